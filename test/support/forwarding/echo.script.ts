import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { ECHO_PORT } from './frontends.ts'
import { serveCalls } from './serve-calls.ts'

/** A backend that echoes over TCP and UDP. */
const [, , host = ''] = process.argv
const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => socket.write(chunk))
})
server.listen({ host, port: ECHO_PORT, backlog: 4096 })
await once(server, 'listening')
const datagrams = createSocket('udp4', (message, { port, address }) => {
  datagrams.send(message, port, address)
})
datagrams.bind(ECHO_PORT, host)
await once(datagrams, 'listening')
serveCalls({})
