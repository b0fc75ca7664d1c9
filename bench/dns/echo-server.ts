import { createSocket } from 'node:dgram'

/**
 * The limit of UDP in Node: a server that sends every message back, with the bit that makes it a response. Prints its
 * port.
 */
const RESPONSE = 0x80
const RECEIVE_BUFFER = 4 * 1_024 * 1_024

const socket = createSocket({
  type: 'udp4',
  lookup: (host, _options, callback) => callback(null, host, 4),
})
socket.on('message', (message, { port, address }) => {
  message[2]! |= RESPONSE
  socket.send(message, 0, message.length, port, address)
})
socket.bind(0, '127.0.0.1', () => {
  socket.setRecvBufferSize(RECEIVE_BUFFER)
  process.stdout.write(`${socket.address().port}\n`)
})
