import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Pool } from 'undici'
import { tieToUs } from '../../../test/support/tie-to-us.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'

const PROGRAM = new URL('./server.ts', import.meta.url).pathname
const CONNECTIONS = 8

/** By what the clients of a server prove who they are; `none`: the server knows no users. */
export type Credentials = 'none' | 'token' | 'certificate'

/** What a server says when it is ready. */
export interface ServerReport {
  readonly pid: number
  readonly url: string
  readonly ca: string
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}

/** What requests cost. */
export interface Cost {
  /** Microseconds of the server's processor time for a request, all threads. */
  readonly cpuMicros: number
  readonly perSecond: number
}

/** One server in a process of its own, and clients that keep their connections. */
export interface Subject {
  /** Sends so many requests over all connections, one after the other on each. */
  measure(count: number, request: (index: number) => Sent): Promise<Cost>
  close(): Promise<void>
}

export interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

export async function startSubject(how: Credentials): Promise<Subject> {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, how]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  tieToUs(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { pid, url, ca, token, cert, key } = JSON.parse(line) as ServerReport
  const pool = new Pool(url, {
    connections: CONNECTIONS,
    connect: { ca, ...(cert !== undefined && key !== undefined && { cert, key }) },
  })
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const send = async ({ method, path, body }: Sent): Promise<void> => {
    const answer = await pool.request({ method, path, headers, ...(body && { body }) })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
  }
  return {
    async measure(count, request) {
      let next = 0
      const [cpu, began] = [cpuSeconds(pid), performance.now()]
      const client = async (): Promise<void> => {
        while (next < count) await send(request(next++))
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
      const seconds = (performance.now() - began) / 1000
      return {
        cpuMicros: Math.round(((cpuSeconds(pid) - cpu) / count) * 1e6),
        perSecond: Math.round(count / seconds),
      }
    },
    async close() {
      await pool.close()
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
