import { createServer } from 'node:net'
import { TARGET_PORT } from '../lab/plan.ts'

/** Answers each connection with a byte and closes it first, as an HTTP server does with `connection: close`. */
const server = createServer((socket) => {
  socket.on('error', () => undefined)
  socket.end('.')
  socket.resume()
})
server.listen({ port: TARGET_PORT, host: '0.0.0.0', backlog: 4_096 }, () =>
  process.stdout.write('ready\n'),
)
