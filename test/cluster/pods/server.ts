import { createSocket } from 'node:dgram'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'

/**
 * What runs in the test's Pods: answers with its name and the client's address, over HTTP and UDP, and at the next port
 * sends back each byte that comes over TCP. `PUT /ready/false`
 * makes it unready. At SIGTERM it is unready, and ends when the connections that it has are done.
 */
const port = Number(process.env['PORT'] ?? '8080')
const name = process.env['POD_NAME'] ?? ''
let isReady = true

const server = createServer((request, response) => {
  const { method, url = '/' } = request
  if (method === 'PUT') isReady = url === '/ready/true'
  const status = url === '/ready' && !isReady ? 503 : 200
  const source = plain(request.socket.remoteAddress)
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ name, source }))
})
server.listen(port, '::')

const echo = createTcpServer((connection) => {
  connection.on('error', () => connection.destroy()).pipe(connection)
})
echo.listen(port + 1, '::')

const socket = createSocket('udp6')
socket.on('message', (_, { address, port: from }) => {
  socket.send(JSON.stringify({ name, source: plain(address) }), from, address)
})
socket.bind(port, '::')

process.on('SIGTERM', () => {
  isReady = false
  echo.close()
  server.close(() => process.exit(0))
})

/** An address of IPv4 that came over a socket of both families. */
function plain(address = ''): string {
  return address.replace(/^::ffff:/, '')
}
