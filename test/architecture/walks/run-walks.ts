import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import dnsPacket from 'dns-packet'
import { Agent, fetch } from 'undici'
import { parse, stringify } from 'yaml'
import { type WalkCount, walkCount } from './walk-count.ts'

const API = 'http://127.0.0.1:8080'
const CONTROL_PLANE = 'https://127.0.0.1:6443'
const HEALTH = 'http://127.0.0.1:10256'
const DNS_STATUS = 'http://127.0.0.1:9153'
const DNS_PORT = 5353
/** Longer than a change takes to the kernel, shorter than the next regular write. */
const SETTLED_MS = 2_000
const TRIES = 150
const TRY_MS = 100

const METADATA = { name: 'walk', namespace: 'default' }
const CLUSTER_IP = '10.96.0.99'
const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: METADATA,
  spec: { clusterIP: CLUSTER_IP, selector: { app: 'walk' }, ports: [{ port: 80 }] },
}
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...METADATA, labels: { 'kubernetes.io/service-name': 'walk' } },
  addressType: 'IPv4',
  ports: [{ port: 80, protocol: 'TCP', name: '' }],
  endpoints: [{ addresses: ['10.244.0.7'], conditions: { ready: true } }],
}

const KUBECONFIG = stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'walk', cluster: { server: API } }],
  users: [{ name: 'walk', user: {} }],
  contexts: [{ name: 'walk', context: { cluster: 'walk', user: 'walk' } }],
  'current-context': 'walk',
})

type Walks = Record<string, WalkCount | string>

/** The programs of a checkout, every function of which reports its file. */
interface Programs {
  readonly folder: string
  start(file: string, args: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess
  stop(): Promise<void>
}

/**
 * Starts the programs of a checkout with every function instrumented and walks through them: a POST
 * and a PATCH of a Service, a reconcile of Endpoints, a Service to the kernel in each mode, the
 * explanation of a packet in the first of them, and a DNS question. Needs root and a network
 * namespace of its own, because the daemon programs the real kernel.
 */
export async function runWalks(base: string, modes: readonly string[]): Promise<Walks> {
  const folder = mkdtempSync(join(tmpdir(), 'np-walks-'))
  const children: ChildProcess[] = []
  const programs: Programs = {
    folder,
    start(file, args, env = {}) {
      const recorder = join(import.meta.dirname, 'recorder.ts')
      const child = spawn(process.execPath, ['--import', recorder, join(base, file), ...args], {
        env: { ...process.env, WALK_BASE: base, ...env },
        cwd: base,
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      children.push(child)
      return child
    },
    async stop() {
      await Promise.all(children.splice(0).map(ended))
    },
  }
  try {
    return {
      ...(await apiWalks(programs)),
      ...(await reconcileWalk(programs)),
      ...(await modeWalks(programs, modes)),
      ...(await dnsWalk(programs)),
    }
  } finally {
    await programs.stop()
    rmSync(folder, { recursive: true })
  }
}

async function apiWalks({ folder, start, stop }: Programs): Promise<Walks> {
  start('src/apiserver/main.ts', ['--port', '8080'])
  await ready(`${API}/readyz`)
  const walk = (name: string) => ({ 'x-walk': join(folder, name) })
  const path = `${API}/api/v1/namespaces/default/services`
  const warm = { ...SERVICE, metadata: { ...METADATA, name: 'warm' } }
  await send('POST', path, { ...warm, spec: { ...SERVICE.spec, clusterIP: undefined } })
  await send('POST', path, SERVICE, walk('post'))
  await send('PATCH', `${path}/walk`, { metadata: { labels: { a: 'b' } } }, walk('patch'))
  const found = {
    'POST a Service': await counted(folder, 'post'),
    'PATCH a Service': await counted(folder, 'patch'),
  }
  await stop()
  return found
}

async function reconcileWalk({ folder, start, stop }: Programs): Promise<Walks> {
  const data = join(folder, 'data')
  start('src/orchserver/main.ts', ['--data-dir', data, '--controllers', 'endpoints'])
  const kubeconfig = join(data, 'admin.kubeconfig')
  await until(() => existsSync(kubeconfig))
  const dispatcher = administrator(readFileSync(kubeconfig, 'utf8'))
  await ready(`${CONTROL_PLANE}/readyz`, dispatcher)
  await delay(SETTLED_MS)
  const path = `${CONTROL_PLANE}/api/v1/namespaces/default/services`
  const headers = {
    'x-walk': join(folder, 'reconcile'),
    'x-walk-from': 'response',
    'x-walk-until': '^(POST|PUT|PATCH) .*/endpoints',
  }
  await send('POST', path, SERVICE, headers, dispatcher)
  const within = /^src\/(controllers|client|watch|cluster|resources)\//
  const found = { 'Endpoints reconcile': await counted(folder, 'reconcile', within) }
  await stop()
  return found
}

/** Connects with the certificates of a kubeconfig. */
function administrator(kubeconfig: string): Agent {
  const { clusters, users } = parse(kubeconfig) as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[]
    readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
  }
  const decoded = (text = ''): Buffer => Buffer.from(text, 'base64')
  const { 'client-certificate-data': cert, 'client-key-data': key } = users[0]?.user ?? {}
  const ca = clusters[0]?.cluster['certificate-authority-data']
  return new Agent({ connect: { cert: decoded(cert), key: decoded(key), ca: decoded(ca) } })
}

async function modeWalks(programs: Programs, modes: readonly string[]): Promise<Walks> {
  const found: Walks = {}
  for (const mode of modes) Object.assign(found, await modeWalk(programs, mode, mode === modes[0]))
  return found
}

async function modeWalk(programs: Programs, mode: string, explains: boolean): Promise<Walks> {
  const { folder, start, stop } = programs
  const name = `Service to the kernel, ${mode}`
  const socket = join(folder, 'inspect.sock')
  start('src/apiserver/main.ts', ['--port', '8080'])
  await ready(`${API}/readyz`)
  const config = ['--proxy-mode', mode, '--hostname-override', 'walk']
  start('src/nodeproxy/main.ts', ['--master', API, ...config, '--inspection-socket', socket])
  try {
    if (!(await ready(`${HEALTH}/readyz`))) {
      return { [name]: 'the mode does not start on this kernel' }
    }
    await delay(SETTLED_MS)
    await recorded(`${HEALTH}/livez`, join(folder, mode), async () => {
      await send('POST', `${API}/api/v1/namespaces/default/services`, SERVICE)
      await send('POST', `${API}/apis/discovery.k8s.io/v1/namespaces/default/endpointslices`, SLICE)
      await delay(SETTLED_MS)
    })
    const service = { [name]: await counted(folder, mode) }
    return explains ? { ...service, ...(await explainWalk(programs, socket)) } : service
  } finally {
    await stop()
  }
}

async function explainWalk({ folder, start }: Programs, socket: string): Promise<Walks> {
  const args = ['explain', 'node', `${CLUSTER_IP}:80`, '--socket', socket]
  const child = start('src/nodeproxy/main.ts', args, { WALK_FILE: join(folder, 'explain') })
  await once(child, 'exit')
  return { 'explain a packet': await counted(folder, 'explain') }
}

async function dnsWalk({ folder, start, stop }: Programs): Promise<Walks> {
  start('src/apiserver/main.ts', ['--port', '8080'])
  await ready(`${API}/readyz`)
  await send('POST', `${API}/api/v1/namespaces/default/services`, SERVICE)
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, KUBECONFIG)
  const address = `127.0.0.1:${DNS_PORT}`
  start('src/orchdns/main.ts', ['--kubeconfig', kubeconfig, '--dns-address', address])
  await ready(`${DNS_STATUS}/readyz`)
  await question('kubernetes.default.svc.cluster.local')
  await recorded(`${DNS_STATUS}/livez`, join(folder, 'dns'), () =>
    question('walk.default.svc.cluster.local'),
  )
  const found = { 'DNS question': await counted(folder, 'dns') }
  await stop()
  return found
}

/** Records what a program does between two requests to its health server. */
async function recorded(url: string, file: string, action: () => Promise<unknown>): Promise<void> {
  const headers = { 'x-walk': file, 'x-walk-from': 'response', 'x-walk-until': '^never' }
  await (await fetch(url, { headers })).arrayBuffer()
  await action()
  await (await fetch(url, { headers: { 'x-walk-end': '1' } })).arrayBuffer()
}

async function question(name: string): Promise<void> {
  const socket = createSocket('udp4')
  const query = dnsPacket.encode({ type: 'query', id: 1, questions: [{ type: 'A', name }] })
  socket.send(query, DNS_PORT, '127.0.0.1')
  await once(socket, 'message')
  socket.close()
}

async function send(
  method: string,
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
  dispatcher: Agent = new Agent(),
): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const answer = await fetch(url, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': type, ...headers },
    dispatcher,
  })
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

async function ready(url: string, dispatcher: Agent = new Agent()): Promise<boolean> {
  return await until(async () => {
    const answer = await fetch(url, { dispatcher }).catch(() => undefined)
    return answer?.ok === true
  })
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    if (await isSo()) return true
    await delay(TRY_MS)
  }
  return false
}

async function counted(folder: string, name: string, within?: RegExp): Promise<WalkCount | string> {
  const path = join(folder, name)
  if (!(await until(() => existsSync(path)))) return 'the walk did not end'
  return walkCount(JSON.parse(readFileSync(path, 'utf8')) as readonly string[], within)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}
