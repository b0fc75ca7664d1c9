import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'

/**
 * Serves one client at a time on the Unix socket at `path`: its input goes
 * to `line`, and the output of `line` to it. The line ends in a shell inside.
 */
export function openShellSocket(path: string, line: Socket): Server {
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
  // Read from the start, or the shell's prompt would block the line for every client.
  line.on('error', () => undefined).resume()
  return server.listen(path)
}
