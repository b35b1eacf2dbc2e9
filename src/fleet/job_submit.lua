-- Written by `ampere slurm install` (docs/fleet.md). Places jobs that name a network by the joules that training it will
-- take, records what is predicted, and gives a time limit where the user gave none:
--
--   sbatch --comment ampere:resnet18,batch=32,samples=50000,epochs=10,deadline=7200 train.sh
--
-- It reads one small file, which `ampere slurm refresh` writes, and starts no program, so that the controller never waits.
-- Whatever is wrong with the file or the comment, the job goes on as if this script were not there.

local TABLE = "@TABLE@"
local MARK = "ampere:"

local UNITS = { s = 1, min = 60, h = 3600, d = 86400 }

-- "7200", "90min", "2h" -> seconds; nothing where it is neither.
local function seconds_of(text)
  local number, unit = text:match("^([%d%.]+)%s*(%a+)$")
  return tonumber(text) or (number and tonumber(number) and UNITS[unit] and tonumber(number) * UNITS[unit])
end

local READ = { batch = tonumber, samples = tonumber, epochs = tonumber, deadline = seconds_of }

-- "ampere:NAME,batch=32,samples=..." -> "NAME", {batch = 32, samples = ...}; nothing where it is none of ours. Throws what
-- cannot be understood.
local function read_comment(comment)
  if type(comment) ~= "string" or comment:sub(1, #MARK) ~= MARK then return nil end
  local name, fields = nil, {}
  for word in comment:sub(#MARK + 1):gmatch("[^,]+") do
    word = word:match("^%s*(.-)%s*$")
    local key, value = word:match("^([^=]*)=(.*)$")
    if not key then
      if name then error("two networks are named, " .. name .. " and " .. word, 0) end
      name = word
    else
      if not READ[key] then error("there is no " .. key .. "=; known are batch, samples, epochs and deadline", 0) end
      fields[key] = READ[key](value)
      if not fields[key] or not (fields[key] > 0) then error(word .. " cannot be read", 0) end
    end
  end
  if not name then error("no network is named", 0) end
  if not fields.samples then error("samples= is missing", 0) end
  return name, fields
end

-- What the table says of the network, for every partition, for one iteration; and the batch that this is for. Without one
-- in the comment, the only one of the table.
local function read_rows(name, batch)
  local rows = {}
  local file = io.open(TABLE, "r")
  if not file then error("there is no table; ampere slurm refresh writes it", 0) end
  for line in file:lines() do
    local cells = {}
    for cell in line:gmatch("[^\t]+") do cells[#cells + 1] = cell end
    if cells[1] == name then
      local row = { batch = tonumber(cells[2]), partition = cells[3], joules = tonumber(cells[4]), low = tonumber(cells[5]),
                    high = tonumber(cells[6]), seconds = tonumber(cells[7]), slowest = tonumber(cells[8]),
                    -- Of a joule, where the table says what energy costs; tables of older versions do not.
                    price = tonumber(cells[9]), currency = cells[10], grams = tonumber(cells[11]) }
      if row.batch and row.partition and row.joules and row.low and row.high and row.seconds and row.slowest then
        rows[#rows + 1] = row
      end
    end
  end
  file:close()
  if #rows == 0 then error("nothing is known of a network " .. name, 0) end
  if not batch then
    for _, row in ipairs(rows) do
      if row.batch ~= rows[1].batch then error(name .. " is known at several batches; say batch=", 0) end
    end
    batch = rows[1].batch
  end
  local known = {}
  for _, row in ipairs(rows) do
    if row.batch == batch then known[#known + 1] = row end
  end
  if #known == 0 then error(string.format("%s is not known at batch %d", name, batch), 0) end
  return known, batch
end

-- ",cost=1,cost_low=0.9,cost_high=1.1" of so many joules; nothing where a joule's is not known.
local function costs(name, of_a_joule, joules, low, high)
  if not of_a_joule then return "" end
  return string.format(",%s=%.6g,%s_low=%.6g,%s_high=%.6g", name, joules * of_a_joule, name, low * of_a_joule, name,
                       high * of_a_joule)
end

-- The partitions that the user asks for, by name; nil: any.
local function asked_for(job)
  if job.partition == nil or job.partition == "" then return nil end
  local names = {}
  for name in job.partition:gmatch("[^,]+") do names[name] = true end
  return names
end

local function place(job, partitions)
  local name, fields = read_comment(job.comment)
  if not name then return end
  local rows, batch = read_rows(name, fields.batch)
  local iterations = math.ceil(fields.samples / batch) * math.max(1, fields.epochs or 1)
  local has_limit = job.time_limit ~= nil and job.time_limit < 4294967294
  local deadline = math.min(fields.deadline or math.huge, has_limit and job.time_limit * 60 or math.huge)
  local asked = asked_for(job)
  local best, in_time = nil, false
  for _, row in ipairs(rows) do
    -- Only what this user may use at all.
    if partitions[row.partition] and (asked == nil or asked[row.partition]) then
      local keeps = row.slowest * iterations <= deadline
      local better = best == nil or (keeps and not in_time)
        or (keeps == in_time and keeps and row.joules < best.joules)
        or (keeps == in_time and not keeps and row.slowest < best.slowest)
      if better then best, in_time = row, keeps end
    end
  end
  if not best then error("no partition that this job may use is in the table", 0) end
  -- Where no partition keeps the deadline, whoever asked knows better.
  if in_time then job.partition = best.partition end
  local seconds = best.slowest * iterations
  local joules, low, high = best.joules * iterations, best.low * iterations, best.high * iterations
  local cost = costs("cost", best.price, joules, low, high)
  if cost ~= "" and best.currency and best.currency ~= "-" then cost = cost .. ",currency=" .. best.currency end
  job.admin_comment = string.format(
    "ampere:%s,batch=%d,partition=%s,joules=%.6g,joules_low=%.6g,joules_high=%.6g,seconds=%.6g,seconds_high=%.6g", name,
    batch, best.partition, joules, low, high, best.seconds * iterations, seconds)
    .. cost .. costs("grams", best.grams, joules, low, high)
  if in_time and not has_limit then
    -- Twice the time that is hardly ever needed, and ten minutes to begin and to end.
    local minutes = math.ceil(2 * seconds / 60) + 10
    local most = partitions[best.partition].max_time
    if type(most) == "number" and most > 0 and most < 4294967294 then minutes = math.min(minutes, most) end
    if minutes < 4294967294 then job.time_limit = minutes end
  end
  slurm.log_info("ampere: %s goes to %s: %.4g J, %.4g s", name, best.partition, joules, best.seconds * iterations)
end

function slurm_job_submit(job, partitions, user)
  local well, why = pcall(place, job, partitions)
  if not well then
    pcall(slurm.log_info, "ampere: a job is left as it is: %s", tostring(why))
    pcall(slurm.log_user, "ampere: not placed by joules: %s; the job goes on as it is", tostring(why))
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
  return slurm.SUCCESS
end

return slurm.SUCCESS
