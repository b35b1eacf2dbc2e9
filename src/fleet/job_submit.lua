-- Written by `ampere slurm install` (docs/fleet.md). Places jobs that name a network by the joules that training it will
-- take, records what is predicted, and gives a time limit where the user gave none:
--
--   sbatch --comment ampere:resnet18,batch=32,samples=50000,epochs=10,deadline=7200 train.sh
--
-- It reads one small file, which `ampere slurm refresh` writes, and starts no program, so that the controller never waits.
-- Whatever is wrong with the file or the comment, the job goes on as if this script were not there.

local TABLE = "@TABLE@"
local MARK = "ampere:"

-- "ampere:NAME,batch=32,samples=..." -> "NAME", {batch = 32, samples = ...}; nothing where it is none of ours.
local function read_comment(comment)
  if type(comment) ~= "string" or comment:sub(1, #MARK) ~= MARK then return nil end
  local name, fields = nil, {}
  for word in comment:sub(#MARK + 1):gmatch("[^,]+") do
    local key, value = word:match("^([a-z]+)=(.*)$")
    if key then fields[key] = tonumber(value) elseif not name then name = word end
  end
  if name and fields.batch and fields.batch >= 1 and (fields.samples or 0) >= 1 then return name, fields end
  return nil
end

-- What the table says of the network at that batch, for every partition, for one iteration.
local function read_rows(name, batch)
  local rows = {}
  local file = io.open(TABLE, "r")
  if not file then return rows end
  for line in file:lines() do
    local cells = {}
    for cell in line:gmatch("[^\t]+") do cells[#cells + 1] = cell end
    if cells[1] == name and tonumber(cells[2]) == batch then
      local row = { partition = cells[3], joules = tonumber(cells[4]), low = tonumber(cells[5]), high = tonumber(cells[6]),
                    seconds = tonumber(cells[7]), slowest = tonumber(cells[8]),
                    -- Of a joule, where the table says what energy costs; tables of older versions do not.
                    price = tonumber(cells[9]), currency = cells[10], grams = tonumber(cells[11]) }
      if row.partition and row.joules and row.low and row.high and row.seconds and row.slowest then rows[#rows + 1] = row end
    end
  end
  file:close()
  return rows
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
  local iterations = math.ceil(fields.samples / fields.batch) * math.max(1, fields.epochs or 1)
  local has_limit = job.time_limit ~= nil and job.time_limit < 4294967294
  local deadline = math.min(fields.deadline or math.huge, has_limit and job.time_limit * 60 or math.huge)
  local asked = asked_for(job)
  local best, in_time = nil, false
  for _, row in ipairs(read_rows(name, fields.batch)) do
    -- Only what this user may use at all.
    if partitions[row.partition] and (asked == nil or asked[row.partition]) then
      local keeps = row.slowest * iterations <= deadline
      local better = best == nil or (keeps and not in_time)
        or (keeps == in_time and keeps and row.joules < best.joules)
        or (keeps == in_time and not keeps and row.slowest < best.slowest)
      if better then best, in_time = row, keeps end
    end
  end
  if not best then return end
  -- Where no partition keeps the deadline, whoever asked knows better.
  if in_time then job.partition = best.partition end
  local seconds = best.slowest * iterations
  local joules, low, high = best.joules * iterations, best.low * iterations, best.high * iterations
  local cost = costs("cost", best.price, joules, low, high)
  if cost ~= "" and best.currency and best.currency ~= "-" then cost = cost .. ",currency=" .. best.currency end
  job.admin_comment = string.format(
    "ampere:%s,batch=%d,partition=%s,joules=%.6g,joules_low=%.6g,joules_high=%.6g,seconds=%.6g,seconds_high=%.6g", name,
    fields.batch, best.partition, joules, low, high, best.seconds * iterations, seconds)
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
  if not well then pcall(slurm.log_info, "ampere: a job is left as it is: %s", tostring(why)) end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
  return slurm.SUCCESS
end

return slurm.SUCCESS
