import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Pool } from 'undici'
import { API_PORT, CONTROL, SERVICE_NET } from '../lab/plan.ts'
import {
  ENDPOINTS_PER_SERVICE,
  firstEndpoints,
  SERVICES_PATH,
  SLICES_PATH,
  serviceName,
  serviceObject,
  sliceName,
  sliceObject,
} from './objects.ts'

const SERVER = new URL('../../src/apiserver/main.ts', import.meta.url).pathname
const CONNECTIONS = 16

/** An API server with Services, and a record of what was written to it. */
export interface Cluster {
  readonly url: string
  /** Services and slices, numbered from 0. */
  readonly size: number
  /** Endpoints that each Service starts with. */
  readonly endpointsEach: number
  /** Highest resourceVersion written so far, by resource. */
  readonly written: ReadonlyMap<string, number>
  endpointsOf(index: number): readonly number[]
  addService(): Promise<number>
  /** Removes the Service with the highest number. */
  removeService(): Promise<void>
  /** Replaces the endpoints of a Service; resolves when the server has answered. */
  setEndpoints(index: number, addresses: readonly number[]): Promise<void>
  stop(): Promise<void>
}

export async function startCluster(endpointsEach = ENDPOINTS_PER_SERVICE): Promise<Cluster> {
  const place = [`--host=${CONTROL.server}`, `--port=${API_PORT}`]
  const flags = [...place, `--service-cluster-ip-range=${SERVICE_NET}`]
  const child = spawn(process.execPath, [SERVER, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
  })
  const [url] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('the API server ended'))),
  ])) as [string]
  return new RunningCluster(child, url, endpointsEach)
}

class RunningCluster implements Cluster {
  readonly url: string
  readonly endpointsEach: number
  readonly #child: ChildProcess
  readonly #pool: Pool
  readonly #endpoints: (readonly number[])[] = []
  readonly #written = new Map<string, number>()

  constructor(child: ChildProcess, url: string, endpointsEach: number) {
    this.#child = child
    this.url = url
    this.endpointsEach = endpointsEach
    this.#pool = new Pool(url, { connections: CONNECTIONS })
  }

  get size(): number {
    return this.#endpoints.length
  }

  get written(): ReadonlyMap<string, number> {
    return this.#written
  }

  endpointsOf(index: number): readonly number[] {
    return this.#endpoints[index] ?? []
  }

  async addService(): Promise<number> {
    const index = this.#endpoints.length
    const addresses = firstEndpoints(index, this.endpointsEach)
    this.#endpoints.push(addresses)
    await this.#write('POST', SERVICES_PATH, serviceObject(index))
    await this.#write('POST', SLICES_PATH, sliceObject(index, addresses))
    return index
  }

  async removeService(): Promise<void> {
    const index = this.#endpoints.length - 1
    this.#endpoints.pop()
    await this.#send('DELETE', `${SERVICES_PATH}/${serviceName(index)}`)
    await this.#send('DELETE', `${SLICES_PATH}/${sliceName(index)}`)
  }

  async setEndpoints(index: number, addresses: readonly number[]): Promise<void> {
    this.#endpoints[index] = addresses
    await this.#write('PUT', `${SLICES_PATH}/${sliceName(index)}`, sliceObject(index, addresses))
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    await this.#pool.destroy()
    this.#child.kill('SIGKILL')
    await ended
  }

  async #write(method: 'POST' | 'PUT', path: string, object: object): Promise<void> {
    const text = await this.#send(method, path, object)
    const resource = path.includes('/services') ? 'services' : 'endpointslices'
    const version = Number(/"resourceVersion":"(\d+)"/.exec(text)?.[1])
    this.#written.set(resource, Math.max(this.#written.get(resource) ?? 0, version))
  }

  async #send(method: 'POST' | 'PUT' | 'DELETE', path: string, object?: object): Promise<string> {
    const { statusCode, body } = await this.#pool.request({
      method,
      path,
      headers: { 'content-type': 'application/json' },
      body: object === undefined ? null : JSON.stringify(object),
    })
    const text = await body.text()
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${text}`)
    return text
  }
}

/** Adds Services until there are `size`, a few at a time. */
export async function growTo(cluster: Cluster, size: number): Promise<void> {
  const worker = async () => {
    while (cluster.size < size) await cluster.addService()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
}
