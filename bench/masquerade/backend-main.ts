import { AF_INET, checked, libc, SOCK_CLOEXEC, SOCK_STREAM, socketAddress } from '../lab/libc.ts'
import { TARGET_PORT } from '../lab/plan.ts'

const BACKLOG = 4_096
const MSG_NOSIGNAL = 0x4000
const BYTE = Buffer.from('.')
const NOWHERE = Buffer.alloc(0)

/** Answers each connection with a byte and closes it first, as an HTTP server does with `connection: close`. */
const server = checked(libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), 'socket')
const address = socketAddress(0, TARGET_PORT)
checked(libc.bind(server, address, address.length), 'bind')
checked(libc.listen(server, BACKLOG), 'listen')
process.stdout.write('ready\n', () => {
  for (;;) {
    const socket = libc.accept4(server, 0n, 0n, SOCK_CLOEXEC)
    if (socket < 0) continue
    libc.sendto(socket, BYTE, 1n, MSG_NOSIGNAL, NOWHERE, 0)
    libc.close(socket)
  }
})
