-- Asks Castellan whether a request may pass, for haproxy.cfg and apache.conf. No request may pass for want of an answer.
-- It needs Lua 5.3, and in Apache LuaSocket. HAProxy's own HTTP client repeats a question that times out: 8 s instead of 2.

local new_socket = core and core.tcp or require('socket').tcp
local CONNECT_SECONDS = 1
local ANSWER_SECONDS = 2

-- What a client learns of a refusal, with its body. Other headers are between the gateway and Castellan.
local told = { 'content-type', 'cache-control', 'retry-after', 'www-authenticate' }
local subject = {
  'x-castellan-subject-type',
  'x-castellan-subject-id',
  'x-castellan-subject-name',
  'x-castellan-subject-email',
}

-- LuaSocket counts the seconds of a whole call with 't'. HAProxy knows no such parameter.
local function limit(connection, seconds)
  if core then connection:settimeout(seconds) else connection:settimeout(seconds, 't') end
end

-- Returns all that is answered until the connection ends, or nil.
local function exchange(host, port, question)
  local connection = new_socket()
  limit(connection, CONNECT_SECONDS)
  local answer
  if connection:connect(host, port) and connection:send(question) then
    limit(connection, ANSWER_SECONDS)
    answer = connection:receive('*a')
  end
  connection:close()
  return answer
end

-- Returns the status, the headers by their name in lower case, and the body. Returns nil for what is no whole answer.
local function parse(answer)
  local head, body = answer:match('^(.-\r\n)\r\n(.*)$')
  if not head then return nil end
  local headers = {}
  for name, value in head:gmatch('\n([%w-]+):[ \t]*([^\r\n]*)') do headers[name:lower()] = value end
  if tonumber(headers['content-length'] or #body) ~= #body then return nil end
  return tonumber(head:match('^HTTP/1%.%d (%d%d%d)[ \r]')), headers, body
end

-- Returns 'pass' and the headers of the subject; or 'refuse' and the status, the headers and the body of the refusal.
-- Returns nil if Castellan did not judge. HTTP/1.0 ends an answer with the connection, and has no chunks.
local function ask(castellan, permission, authorization, address, scheme)
  local lines = {
    'GET /api/v1/access/forward?permission=' .. permission .. ' HTTP/1.0',
    'Host: ' .. castellan.host,
    'Connection: close',
    'X-Forwarded-For: ' .. address,
    'X-Forwarded-Proto: ' .. scheme,
  }
  if authorization then lines[#lines + 1] = 'Authorization: ' .. authorization end
  local answer = exchange(castellan.host, castellan.port, table.concat(lines, '\r\n') .. '\r\n\r\n')
  if not answer then return nil end
  local status, headers, body = parse(answer)
  if status == 204 and headers['x-castellan-subject-id'] then return 'pass', headers end
  if status == 401 or status == 403 or status == 429 or status == 503 then
    return 'refuse', { status = status, headers = headers, body = body }
  end
end

if core then
  local host, port = os.getenv('CASTELLAN'):match('^(.+):(%d+)$')
  local castellan = { host = host, port = tonumber(port) }

  core.register_action('castellan', { 'http-req' }, function(txn)
    local authorization = txn.http:req_get_headers()['authorization']
    local verdict, result = ask(
      castellan,
      txn:get_var('txn.castellan_permission'),
      authorization and authorization[0],
      txn.f:src(),
      txn.f:ssl_fc() == 1 and 'https' or 'http'
    )
    if verdict == 'pass' then
      for _, name in ipairs(subject) do
        if result[name] then txn.http:req_set_header(name, result[name]) end
      end
      txn:set_var('txn.castellan_passed', true)
    elseif verdict == 'refuse' then
      local reply = txn:reply { status = result.status, body = result.body }
      for _, name in ipairs(told) do
        if result.headers[name] then reply:add_header(name, result.headers[name]) end
      end
      txn:done(reply)
    end
  end, 0)
end

-- Apache's hook.
function access_checker(r)
  -- Removes what the client sent, in every spelling: products may read `_` and `.` as `-`.
  for name in pairs(r:headers_in_table()) do
    if name:lower():find('castellan', 1, true) then r.headers_in[name] = nil end
  end
  -- Only websockets leave HTTP/1.1. Another protocol (h2c) would carry requests to the product that nobody judges.
  local protocol = r.headers_in['Upgrade']
  if protocol and protocol:lower() ~= 'websocket' then r.headers_in['Upgrade'] = nil end
  local variables = r.subprocess_env
  local permission = variables['castellan_permission']
  if not permission then return 403 end
  local verdict, result = ask(
    { host = variables['castellan_host'], port = tonumber(variables['castellan_port']) },
    permission,
    r.headers_in['Authorization'],
    r.useragent_ip,
    r.is_https and 'https' or 'http'
  )
  if verdict == 'pass' then
    for _, name in ipairs(subject) do
      if result[name] then r.headers_in[name] = result[name] end
    end
    return apache2.OK
  end
  if verdict ~= 'refuse' then return 503 end
  r.status = result.status
  for _, name in ipairs(told) do
    if result.headers[name] then r.headers_out[name] = result.headers[name] end
  end
  r.content_type = result.headers['content-type']
  r:write(result.body)
  return apache2.DONE
end
