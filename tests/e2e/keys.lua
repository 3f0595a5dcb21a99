-- For wrk: POSTs the same SEMEL_KEYS keys over and over, and prints at the end which statuses came, as JSON.
local keys = tonumber(os.getenv("SEMEL_KEYS"))
local next_key = 0
local threads = {}
ok = 0  -- of one thread; done() can only read what is not local
other = 0

function setup(thread)
  table.insert(threads, thread)
end

function request()
  local key = next_key % keys
  next_key = next_key + 1
  wrk.headers["Authorization"] = "Bearer wrk"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Idempotency-Key"] = "wrk-" .. key
  return wrk.format("POST", "/v1/charges", nil, '{"amount":' .. (1000 + key) .. '}')
end

function response(status)
  if status == 200 then ok = ok + 1 else other = other + 1 end
end

function done(summary)
  local sum = { ok = 0, other = 0 }
  for _, thread in ipairs(threads) do
    sum.ok = sum.ok + thread:get("ok")
    sum.other = sum.other + thread:get("other")
  end
  local errors = summary.errors
  io.write(string.format('{"ok":%d,"other":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\n', sum.ok, sum.other,
    errors.connect, errors.read, errors.write, errors.timeout))
end
