import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'

/**
 * Lets one visitor at a time in through the socket at `path`: what he types goes
 * to `line`, and what comes from there he sees. The line ends in a shell inside.
 */
export function openDoor(path: string, line: Socket): Server {
  const server = createServer((visitor) => {
    visitor.on('error', () => undefined)
    visitor.on('data', (typed) => line.write(typed))
    const show = (text: Buffer): void => void visitor.write(text)
    line.on('data', show)
    visitor.once('close', () => line.off('data', show))
    line.once('close', () => visitor.destroy())
  })
  server.maxConnections = 1
  server.once('close', () => rmSync(path, { force: true }))
  // Read from the start, or the shell's prompt would stop the line for everybody.
  line.on('error', () => undefined).resume()
  return server.listen(path)
}
