import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * Runs without any other file of the project: Pods have a copy of it.
 *
 * Answers `GET /path` with the content and the mode of a file as this process sees it, and with its environment.
 */
function main(): void {
  const server = createServer(({ url = '' }, response) => response.end(JSON.stringify(show(url))))
  server.listen(8080)
  process.on('SIGTERM', () => process.exit(0))
}

function show(path: string) {
  const ids = { uid: process.getuid?.(), groups: process.getgroups?.() }
  try {
    const { mode } = statSync(path)
    const text = statSync(path).isFile() ? readFileSync(path, 'utf8') : ''
    return { text, mode: (mode & 0o777).toString(8), env: process.env, ...ids }
  } catch (error) {
    return { error: String(error), env: process.env, ...ids }
  }
}

main()
