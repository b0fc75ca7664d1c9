import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * One client: says what the server greets it with, or the code of the error; then passes on
 * every line of its input and says the answer. `serve` is a plain server at that address.
 */
const [, , kind = '', host = '', port = '', localPort = '0'] = process.argv
const say = (text: string) => process.stdout.write(`${text}\n`)
const codeOf = (error: unknown) => say((error as NodeJS.ErrnoException).code ?? String(error))

async function tcp(): Promise<void> {
  const socket = connect({ host, port: Number(port), localPort: Number(localPort) })
  socket.on('error', codeOf)
  const lines = createInterface({ input: socket })
  lines.on('error', () => {})
  lines.on('line', say)
  lines.on('close', () => process.exit())
  for await (const line of createInterface({ input: process.stdin })) socket.write(`${line}\n`)
  socket.end()
}

async function udp(): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.on('error', codeOf)
  socket.connect(Number(port), host)
  await once(socket, 'connect')
  const again = setInterval(() => socket.send('?'), 500)
  socket.send('?')
  const [answer] = (await once(socket, 'message')) as [Buffer]
  clearInterval(again)
  say(answer.toString().trim())
  socket.close()
}

function serve(): void {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('plain\n')
  })
  server.listen(Number(port), host, () => say('ready'))
  process.stdin.resume().on('end', () => process.exit())
}

if (kind === 'tcp') await tcp()
else if (kind === 'udp') await udp()
else serve()
