-- wrk's requests: estimates of one network under settings that change from request to request, as sliders do. Lengths and
-- prices are new each time; batches come from a few, so most estimates are known and their answers written anew.
-- Arguments: NETWORK DEVICE BATCH,BATCH... [MILLISECONDS that each connection waits before it asks].
local network, device, batches, count, pause = nil, nil, {}, 0, 0

function init(args)
  network, device = args[1], args[2]
  for batch in string.gmatch(args[3] or "32", "%d+") do batches[#batches + 1] = batch end
  pause = tonumber(args[4] or "0")
  count = math.random(1, 1000000)
end

-- Around the mean, so that connections do not ask in step.
function delay()
  return pause == 0 and 0 or math.random(0, 2 * pause)
end

function request()
  count = count + 1
  local body = string.format(
    '{"network":{"zoo":"%s"},"devices":["%s"],"batch":%s,"mode":"replay","samples":50000,"epochs":%d,"price":"0.%dEUR/kWh"}',
    network, device, batches[count % #batches + 1], count % 90 + 1, count % 800 + 100)
  return wrk.format("POST", "/api/v1/estimate", {["Content-Type"] = "application/json"}, body)
end

function done(summary, latency)
  io.write(string.format(
    'RESULT {"requests": %d, "seconds": %.3f, "p50_ms": %.2f, "p90_ms": %.2f, "p99_ms": %.2f, "max_ms": %.2f, "errors": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(90) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout))
end
