import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'

/**
 * The process of a Pod: port 8080 answers with what it got, port 8081 (of IPv6's loopback alone) as well, and port 8082
 * writes without an end. `/greeting` of port 8080 answers with the variable GREETING. It says that it is ready, and whatever is sent to `/say`.
 */
createServer((request, response) => {
  if (request.url?.startsWith('/say?') === true) {
    process.stdout.write(`${decodeURIComponent(request.url.slice(5))}\n`)
    response.end()
  } else if (request.url === '/greeting') response.end(process.env['GREETING'])
  else request.pipe(response)
}).listen(8080)
createTcpServer((socket) => socket.pipe(socket)).listen(8081, '::1')
createTcpServer((socket) => {
  socket.on('error', () => socket.destroy())
  const write = (): void => {
    while (socket.writable && socket.write('x'.repeat(1000)));
  }
  socket.on('drain', write)
  write()
}).listen(8082)
process.stderr.write('a warning\n')
process.stdout.write('ready\n')
process.on('SIGTERM', () => process.exit(0))
