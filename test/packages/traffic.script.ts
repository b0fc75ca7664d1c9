import { existsSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * Sends requests to an address until a file exists: those of one connection, and each of another client by a new
 * connection. Prints how many were answered, and why others were not. URL FILE.
 */
const [url = '', end = ''] = process.argv.slice(2)
const PACE_MS = 10
const TIMEOUT_MS = 10_000

const lasting = new Agent({ keepAlive: true, maxSockets: 1 })
const [kept, fresh] = await Promise.all([requests(lasting), requests(new Agent())])
lasting.destroy()
process.stdout.write(JSON.stringify({ kept, fresh }))

async function requests(agent: Agent) {
  const failures: string[] = []
  const sockets = new Set<number>()
  let answered = 0
  while (!existsSync(end)) {
    try {
      sockets.add(await request(agent))
      answered += 1
    } catch (error) {
      failures.push(String(error))
    }
    await pause(PACE_MS)
  }
  return { answered, failures, connections: sockets.size }
}

/** Sends one request. @returns the local port of its connection */
async function request(agent: Agent): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const sent = get(url, { agent, timeout: TIMEOUT_MS }, (response) => {
    const port = response.socket.localPort ?? 0
    response
      .resume()
      .on('end', () => resolve(port))
      .on('error', reject)
  })
  sent.on('error', reject)
  sent.on('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS} ms`)))
  return await promise
}
