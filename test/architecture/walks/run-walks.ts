import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type WalkCount, walkCount } from './walk-count.ts'

const API = 'http://127.0.0.1:8080'
const CONTROL_PLANE = 'https://127.0.0.1:6443'
const HEALTH = 'http://127.0.0.1:10256'
/** Longer than a change takes to the kernel, shorter than the next regular write. */
const SETTLED_MS = 2_000
const START_TRIES = 150
const TRY_MS = 100

const METADATA = { name: 'walk', namespace: 'default' }
const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: METADATA,
  spec: { selector: { app: 'walk' }, ports: [{ port: 80, targetPort: 8080 }] },
}
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...METADATA, labels: { 'kubernetes.io/service-name': 'walk' } },
  addressType: 'IPv4',
  ports: [{ port: 8080, protocol: 'TCP', name: '' }],
  endpoints: [{ addresses: ['10.244.0.7'], conditions: { ready: true } }],
}

type Walks = Record<string, WalkCount | string>

/**
 * Starts the programs of a checkout with every function instrumented and walks through them: a POST
 * and a PATCH of a Service, a reconcile of Endpoints, and a Service to the kernel in each mode. Needs
 * root and a network namespace of its own, because the daemon programs the real kernel.
 */
export async function runWalks(base: string, modes: readonly string[]): Promise<Walks> {
  const folder = mkdtempSync(join(tmpdir(), 'np-walks-'))
  const children: ChildProcess[] = []
  const start = (file: string, ...args: readonly string[]): void => {
    const recorder = join(import.meta.dirname, 'recorder.ts')
    const env = { ...process.env, WALK_BASE: base }
    const all = ['--import', recorder, join(base, file), ...args]
    children.push(
      spawn(process.execPath, all, { env, cwd: base, stdio: ['ignore', 'ignore', 'inherit'] }),
    )
  }
  const stop = async (): Promise<void> => {
    await Promise.all(children.splice(0).map(ended))
  }
  try {
    return {
      ...(await apiWalks(folder, start, stop)),
      ...(await reconcileWalk(folder, start, stop)),
      ...(await modeWalks(folder, modes, start, stop)),
    }
  } finally {
    await stop()
    rmSync(folder, { recursive: true })
  }
}

type Start = (file: string, ...args: readonly string[]) => void
type Stop = () => Promise<void>

async function apiWalks(folder: string, start: Start, stop: Stop): Promise<Walks> {
  start('src/apiserver/main.ts', '--port', '8080')
  await ready(`${API}/readyz`)
  const walk = (name: string) => ({ 'x-walk': join(folder, name) })
  const path = `${API}/api/v1/namespaces/default/services`
  await send('POST', path, { ...SERVICE, metadata: { ...METADATA, name: 'warm' } })
  await send('POST', path, SERVICE, walk('post'))
  await send('PATCH', `${path}/walk`, { metadata: { labels: { a: 'b' } } }, walk('patch'))
  const found = {
    'POST a Service': counted(folder, 'post'),
    'PATCH a Service': counted(folder, 'patch'),
  }
  await stop()
  return found
}

async function reconcileWalk(folder: string, start: Start, stop: Stop): Promise<Walks> {
  start('src/orchserver/main.ts', '--data-dir', join(folder, 'data'), '--controllers', 'endpoints')
  await ready(`${CONTROL_PLANE}/readyz`)
  await delay(SETTLED_MS)
  await send('POST', `${CONTROL_PLANE}/api/v1/namespaces/default/services`, SERVICE, {
    'x-walk': join(folder, 'reconcile'),
    'x-walk-from': 'response',
    'x-walk-until': '^(POST|PUT|PATCH) .*/endpoints',
  })
  await delay(SETTLED_MS)
  const found = {
    'Endpoints reconcile': counted(
      folder,
      'reconcile',
      /^src\/(controllers|client|watch|cluster|resources)\//,
    ),
  }
  await stop()
  return found
}

async function modeWalks(
  folder: string,
  modes: readonly string[],
  start: Start,
  stop: Stop,
): Promise<Walks> {
  const found: Walks = {}
  for (const mode of modes) {
    start('src/apiserver/main.ts', '--port', '8080')
    await ready(`${API}/readyz`)
    start(
      'src/nodeproxy/main.ts',
      '--master',
      API,
      '--proxy-mode',
      mode,
      '--hostname-override',
      'walk',
    )
    if (!(await ready(`${HEALTH}/readyz`))) {
      found[`Service to the kernel, ${mode}`] = 'the mode does not start on this kernel'
    } else {
      await delay(SETTLED_MS)
      await fetch(`${HEALTH}/livez`, {
        headers: {
          'x-walk': join(folder, mode),
          'x-walk-from': 'response',
          'x-walk-until': '^never',
        },
      })
      await send('POST', `${API}/api/v1/namespaces/default/services`, SERVICE)
      await send('POST', `${API}/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`, SLICE)
      await delay(SETTLED_MS)
      await fetch(`${HEALTH}/livez`, { headers: { 'x-walk-end': '1' } })
      found[`Service to the kernel, ${mode}`] = counted(folder, mode)
    }
    await stop()
  }
  return found
}

async function send(
  method: string,
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const answer = await fetch(url, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': type, ...headers },
  })
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

async function ready(url: string): Promise<boolean> {
  for (let tried = 0; tried < START_TRIES; tried += 1) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok === true) return true
    await delay(TRY_MS)
  }
  return false
}

function counted(folder: string, name: string, within?: RegExp): WalkCount | string {
  const path = join(folder, name)
  if (!existsSync(path)) return 'the walk did not end'
  return walkCount(JSON.parse(readFileSync(path, 'utf8')) as readonly string[], within)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await exit
}
