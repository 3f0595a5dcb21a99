// The order of the questions is that of core/transition.cc: has it expired, has it lapsed, whose is it, and only then
// what is asked.
#include "store/redis/scripts.h"

#include <array>
#include <string>
#include <string_view>

namespace semel::store::redis {
namespace {

// What runs may end also when the memory is full, because nobody is helped by an outcome that cannot be kept.
constexpr std::string_view always = "#!lua flags=allow-oom\n";

// Numbers are written as text once, since the server takes long to do it for every command. The states are the letters
// d, f, r and u.
constexpr std::string_view common = R"lua(
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local sub, byte, pack, max = string.sub, string.byte, struct.pack, math.max
local states = {[100] = true, [102] = true, [114] = true, [117] = true}
local function number(v, at) return (struct.unpack('>I8', v, at)) end
local function bytes(n) return pack('>I8', n) end
local function digits(n) return string.format('%.0f', n) end
local function damaged(v) return #v < 97 or byte(v, 1) ~= 1 or not states[byte(v, 2)] end
local function lapsed(v) return sub(v, 2, 2) == 'r' and now >= number(v, 33) end
local function expired(v) return now >= number(v, 41) and (sub(v, 2, 2) ~= 'r' or lapsed(v)) end
local function head(v) return sub(v, 1, 97 + byte(v, 97)) end
local function again(key, v) redis.call('SET', key, v, 'KEEPTTL') end
local function put(key, v)
  local expires = number(v, 41)
  if now >= expires then redis.call('DEL', key) else redis.call('SET', key, v, 'PXAT', expires - 1) end
end
)lua";

// What a claim is told of the record `v` that is there; nothing if it may have the key, then how often the key was
// granted before, and whether its outcome is in doubt.
constexpr std::string_view judge = R"lua(
local function judge(key, v, owner, fingerprint, takes, over)
  if damaged(v) then return 'c' end
  if expired(v) then return nil, 0, '0' end
  local state, late = sub(v, 2, 2), lapsed(v)
  local same, own = sub(v, 49, 80) == fingerprint, sub(v, 17, 24) == owner
  local free = state == 'f' and (sub(v, 5, 5) == '0' or same)
  local open = (state == 'u' or late) and takes == '1' and same and (over == '' or over == sub(v, 9, 24))
  if (own and state ~= 'r') or not (free or open) then
    if state == 'r' and not late and own then
      again(key, v)
      return 'g' .. sub(v, 9, 16) .. sub(v, 41, 48)
    end
    return 'h' .. bytes(now) .. v
  end
  if sub(v, 5, 5) == '1' or state ~= 'f' then return nil, number(v, 9), '1' end
  return nil, number(v, 9), '0'
end
)lua";

// KEYS: index, records. ARGV: lease, ttl, takes, over; then of each record owner, and fingerprint with tail. Answers a
// list. Most keys are new, so the record of a new one is tried first, which is one command instead of two. That is an
// error if the memory is full, or if somebody has put something else there.
constexpr std::string_view claim = R"lua(
local lease, expires = now + ARGV[1], now + ARGV[2]
local till, score = digits(max(lease, expires) - 1), digits(now)
local times = bytes(now) .. bytes(lease) .. bytes(expires)
local first, granted = '\1r000\0\0\0' .. bytes(1), 'g' .. bytes(1) .. bytes(expires)
local replies, opened = {}, {}
for i = 2, #KEYS do
  local key, owner, rest = KEYS[i], ARGV[2 * i + 1], ARGV[2 * i + 2]
  local reply, count, doubted = granted, nil, nil
  local v = redis.pcall('SET', key, first .. owner .. times .. rest, 'NX', 'GET', 'PXAT', till)
  if type(v) == 'table' then
    v = redis.pcall('GET', key)
    if not v then reply, v = 'x', 'nothing' end
  end
  if type(v) == 'table' then
    reply = 'c'
  elseif v and reply ~= 'x' then
    reply, count, doubted = judge(key, v, owner, sub(rest, 1, 32), ARGV[3], ARGV[4])
    if not reply then
      v = nil
      redis.call('SET', key, '\1r00' .. doubted .. '\0\0\0' .. bytes(count + 1) .. owner .. times .. rest, 'PXAT', till)
      reply = 'g' .. bytes(count + 1) .. bytes(expires)
    end
  end
  if not v then
    opened[#opened + 1] = score
    opened[#opened + 1] = key
  end
  replies[i - 1] = reply
end
if #opened > 0 then redis.call('ZADD', KEYS[1], unpack(opened)) end
return replies
)lua";

// KEYS: record, index, object, record of the event that the caller thinks the object names.
// ARGV: fingerprint, owner, lease, ttl, takes, over, tail; then stamp, company, id of the event, id of that other
// event. The object: 1 version, 2 'o', 9 expires, 17 event, 49 fence, 65 company, then newest and stamp with their
// lengths. Its key outlives its longest event by a day, because a renewal knows nothing of objects.
constexpr std::string_view ordered = R"lua(
local v = redis.call('GET', KEYS[1])
local count, doubted = 0, '0'
if v then
  local reply
  reply, count, doubted = judge(KEYS[1], v, ARGV[2], ARGV[1], ARGV[5], ARGV[6])
  if reply then return reply end
end
local lease, expires = now + ARGV[3], now + ARGV[4]
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local function newer(a, b) if less(a, b) then return b end return a end
local mark = redis.call('GET', KEYS[3])
local newest, stamp, company, ends = '', ARGV[8], ARGV[9], expires
if mark then
  if #mark < 76 or sub(mark, 1, 2) ~= '\1o' then return 'c' end
  local event = sub(mark, 17, 48)
  if event ~= ARGV[11] then return 'l' .. event end
  local at = 75 + struct.unpack('>I2', mark, 73)
  local before = sub(mark, at + 2, at + 1 + struct.unpack('>I2', mark, at))
  local latest = redis.call('GET', KEYS[4])
  if latest and damaged(latest) then return 'c' end
  local held = latest and not expired(latest) and sub(latest, 9, 24) == sub(mark, 49, 64)
  local runs = held and sub(latest, 2, 2) == 'r' and not lapsed(latest)
  if now < number(mark, 9) then newest = sub(mark, 75, at - 1) end
  if held and sub(latest, 2, 2) == 'd' then newest = newer(newest, before) end
  if less(stamp, newest) then return 's' end
  if runs then
    if company == bytes(0) or company ~= sub(mark, 65, 72) then return 'b' .. bytes(now) .. event .. latest end
    stamp = newer(before, stamp)
  end
  ends = max(ends, number(mark, 9))
elseif ARGV[11] ~= '' then
  return 'l'
end
if company == bytes(0) then company = ARGV[2] end
redis.call('SET', KEYS[3], '\1o\0\0\0\0\0\0' .. bytes(ends) .. ARGV[10] .. bytes(count + 1) .. ARGV[2] .. company
           .. pack('>I2', #newest) .. newest .. pack('>I2', #stamp) .. stamp, 'PXAT', ends + 86400000)
redis.call('SET', KEYS[1], '\1r00' .. doubted .. '\0\0\0' .. bytes(count + 1) .. ARGV[2] .. bytes(now) .. bytes(lease)
           .. bytes(expires) .. ARGV[1] .. ARGV[7], 'PXAT', max(lease, expires) - 1)
redis.call('ZADD', KEYS[2], now, KEYS[1])
return 'g' .. bytes(count + 1) .. bytes(expires)
)lua";

// KEYS: index, records; behind a single record its large answer, if there is one. ARGV: state, 1 if there is a large
// answer, then two of each record: fence and answer; or, if the caller knows what it has claimed, the record as it was
// claimed and as it is to be. That saves Lua the making of the new one: it goes over every byte of each string that it
// makes. If the record is another one by now, it is as if only fence and answer had been given. Answers a list. A
// channel is no key: one that does not exist would keep the script from running while its slot moves.
constexpr std::string_view end = R"lua(
local replies, ended, count, body = {}, {}, #KEYS, nil
if ARGV[2] == '1' then
  body = KEYS[count]
  count = count - 1
end
local function finish(key, v, fence, answer)
  if type(v) == 'table' or (v and damaged(v)) then return 'c' end
  if not v or sub(v, 9, 24) ~= fence then return 'f1' end
  local to, state, apart = ARGV[1], sub(v, 2, 2), '0'
  local lease, expires = struct.unpack('>I8I8', v, 33)
  local late = state == 'r' and now >= lease
  if now >= expires and (state ~= 'r' or late) then return 'f1' end
  if to == 'f' and sub(v, 5, 5) == '1' then to = 'u' end
  if body and state == 'r' and redis.call('PEXPIREAT', body, digits(expires)) == 0 then return 'm' end
  if state == to then
    again(key, v)
    if body and sub(v, 4, 4) == '1' then redis.call('PEXPIREAT', body, digits(expires)) end
    return 'o'
  end
  if late then return 'f2' end
  if state ~= 'r' then return 'f3' end
  if body then apart = '1' end
  local done = '\1' .. to .. '0' .. apart .. sub(v, 5) .. answer
  if lease <= expires then redis.call('SET', key, done, 'KEEPTTL') else put(key, done) end
  if to ~= 'u' then ended[#ended + 1] = key end
  if byte(v, 3) == 49 then redis.call('SPUBLISH', key .. ':e', '') end
  return 'o'
end
for i = 2, count do
  local key, claimed, answer = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local v = redis.pcall('GET', key)
  if #claimed == 16 then
    replies[i - 1] = finish(key, v, claimed, answer)
  elseif v == claimed and now < number(v, 33) then
    redis.call('SET', key, answer, 'KEEPTTL')
    ended[#ended + 1] = key
    replies[i - 1] = 'o'
  else
    replies[i - 1] = finish(key, v, sub(claimed, 9, 24), sub(answer, 98 + byte(answer, 97)))
  end
end
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
return replies
)lua";

// KEYS: record. ARGV: fence, lease.
constexpr std::string_view renew = R"lua(
local v = redis.call('GET', KEYS[1])
if v and damaged(v) then return 'c' end
if not v or expired(v) or sub(v, 9, 24) ~= ARGV[1] then return 'f1' end
if lapsed(v) then return 'f2' end
if sub(v, 2, 2) ~= 'r' then return 'f3' end
local lease, expires = now + ARGV[2], number(v, 41)
redis.call('SETRANGE', KEYS[1], 32, bytes(lease))
if max(lease, number(v, 33)) > expires then redis.call('PEXPIREAT', KEYS[1], max(lease, expires) - 1) end
return 'o'
)lua";

// KEYS: record, index. ARGV: three random bytes, by which a call that is repeated knows itself again; channel.
constexpr std::string_view reopen = R"lua(
local v = redis.call('GET', KEYS[1])
if v and damaged(v) then return 'c' end
if not v or expired(v) then return 'n' end
local state = sub(v, 2, 2)
if state == 'f' and sub(v, 6, 8) == ARGV[1] then
  again(KEYS[1], v)
  return 'o'
end
if state == 'f' or (state == 'r' and not lapsed(v)) then return 'n' end
local doubted = sub(v, 5, 5)
if state ~= 'd' then doubted = '1' end
put(KEYS[1], '\1f00' .. doubted .. ARGV[1] .. sub(v, 9, 16) .. bytes(0) .. sub(head(v), 25))
redis.call('ZREM', KEYS[2], KEYS[1])
if sub(v, 3, 3) == '1' then redis.call('SPUBLISH', ARGV[2], '') end
return 'o'
)lua";

// KEYS: record, index. ARGV: fence, act, verdict (d done, n not done, r reopened), answer, channel.
constexpr std::string_view settle = R"lua(
local v = redis.call('GET', KEYS[1])
if v and #v > 1 and sub(v, 2, 2) == 'o' then return 'f4' end
if v and damaged(v) then return 'c' end
if not v or expired(v) then return 'f4' end
local to, state = 'f', sub(v, 2, 2)
if ARGV[3] == 'd' then to = 'd' end
if state == to and sub(v, 9, 24) == sub(ARGV[1], 1, 8) .. ARGV[2] then
  again(KEYS[1], v)
  return 'o'
end
if sub(v, 9, 24) ~= ARGV[1] then return 'f5' end
local open = state == 'u' or lapsed(v)
if ARGV[3] == 'r' and state ~= 'd' then return 'f7' end
if ARGV[3] ~= 'r' and not open then return state == 'd' and 'f6' or 'f7' end
local doubted = sub(v, 5, 5)
if open then doubted = '1' end
put(KEYS[1], '\1' .. to .. '00' .. doubted .. '\0\0\0' .. sub(ARGV[1], 1, 8) .. ARGV[2] .. sub(head(v), 25) .. ARGV[4])
redis.call('ZREM', KEYS[2], KEYS[1])
if sub(v, 3, 3) == '1' then redis.call('SPUBLISH', ARGV[5], '') end
return 'o'
)lua";

// KEYS: record.
constexpr std::string_view look = R"lua(
local v = redis.call('GET', KEYS[1])
if not v then return 'n' .. bytes(now) end
return 'h' .. bytes(now) .. v
)lua";

// KEYS: record. Marks it, so that its end is told; 'n' if it does not run.
constexpr std::string_view await = R"lua(
local v = redis.call('GET', KEYS[1])
if not v or damaged(v) or sub(v, 2, 2) ~= 'r' or lapsed(v) then return 'n' end
redis.call('SETRANGE', KEYS[1], 2, '1')
return 'o'
)lua";

// KEYS: beat. ARGV: number. Answers the number before it. The network may hold back a batch until others have followed
// over a new connection: its number is not written over theirs, or they would look lost.
constexpr std::string_view beat = R"lua(
local v = redis.call('GET', KEYS[1])
if not v or tonumber(v) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1], 'EX', 604800) end
return v or ''
)lua";

// KEYS: index. ARGV: place to begin at, how many to look at. Takes out records that have expired; answers where to go
// on, or 0.
constexpr std::string_view prune = R"lua(
local names = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
local at = tonumber(ARGV[1])
for _, name in ipairs(names) do
  if redis.call('EXISTS', name) == 0 then redis.call('ZREM', KEYS[1], name) else at = at + 1 end
end
if #names < tonumber(ARGV[2]) then at = 0 end
return tostring(at)
)lua";

// KEYS: list. ARGV: number of the entry, entry.
constexpr std::string_view append = R"lua(
local count = redis.call('LLEN', KEYS[1])
if count + 1 == tonumber(ARGV[1]) then
  redis.call('RPUSH', KEYS[1], ARGV[2])
  return 'o'
end
if redis.call('LINDEX', KEYS[1], ARGV[1] - 1) == ARGV[2] then return 'o' end
return 'm'
)lua";

std::string joined(std::string_view a, std::string_view b, std::string_view c = {}, std::string_view d = {}) {
  return std::string(a).append(b).append(c).append(d);
}

}  // namespace

const std::array<std::string, script_count>& scripts() {
  static const std::array<std::string, script_count> all{joined(common, judge, claim),
                                                         joined(always, common, end),
                                                         joined(always, common, renew),
                                                         joined(always, common, reopen),
                                                         joined(always, common, settle),
                                                         joined(always, common, look),
                                                         joined(common, judge, ordered),
                                                         joined(always, common, await),
                                                         joined(always, beat),
                                                         joined(always, prune),
                                                         joined({}, append)};
  return all;
}

std::string fenced_text(char digit) {
  switch (digit) {
    case '1':
      return "the key is no longer held by this claim";
    case '2':
      return "the lease of this claim has lapsed";
    case '4':
      return "there is no such key, or it has expired";
    case '5':
      return "the key has moved on to another fence";
    case '6':
      return "the key is finished";
    case '7':
      return "the key is not in a state that this act is for";
    default:
      return "this claim has already ended in another way";
  }
}

}  // namespace semel::store::redis
