import { Network, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers'
import type { Images } from '../images/images.ts'
import { TestContainer } from './test-container.ts'

/** A Service's address, and the port that its backend listens on. */
export const CLUSTER_IP = '10.96.0.80'
const TARGET_PORT = 8080
const API_PORT = 6443

/** Answers every request with the address that it saw. */
const BACKEND = `require('node:http')
  .createServer((request, response) => response.end('backend saw ' + request.socket.remoteAddress))
  .listen(${TARGET_PORT}, '0.0.0.0', () => console.log('listens'))`

/**
 * Containers on one network: an API server of this project, a backend, a client,
 * and a node: a container that only lends its network namespace to the daemon, as
 * a machine does to a pod with hostNetwork.
 */
export class Cluster {
  readonly #network: StartedNetwork
  readonly node: StartedTestContainer
  readonly client: StartedTestContainer
  readonly #others: readonly StartedTestContainer[]

  private constructor(
    network: StartedNetwork,
    [api, backend, node, client]: readonly StartedTestContainer[],
  ) {
    if (!api || !backend || !node || !client) throw new Error('four containers are needed')
    this.#network = network
    this.node = node
    this.client = client
    this.#others = [api, backend]
  }

  static async start({ kernelTest }: Images, run: string): Promise<Cluster> {
    const network = await new Network({ nextUuid: () => `${run}-cluster` }).start()
    const member = (name: string) =>
      new TestContainer(kernelTest, `${run}-${name}`).withNetwork(network).withNetworkAliases(name)
    const api = ['src/apiserver/main.ts', '--host=0.0.0.0', `--port=${API_PORT}`]
    const members = [
      member('api')
        .withCommand(['node', ...api])
        .withWaitStrategy(Wait.forLogMessage('http://')),
      member('backend')
        .withCommand(['node', '--eval', BACKEND])
        .withWaitStrategy(Wait.forLogMessage('listens')),
      member('node')
        .withCommand(['sleep', 'infinity'])
        .withAddedCapabilities('NET_ADMIN')
        .unmasked(),
      member('client').withCommand(['sleep', 'infinity']).withAddedCapabilities('NET_ADMIN'),
    ]
    const started = await Promise.all(members.map((each) => each.start()))
    const cluster = new Cluster(network, started)
    await cluster.#connect()
    return cluster
  }

  /** The address of a container on the cluster's network. */
  addressOf(container: StartedTestContainer | undefined): string {
    return container?.getIpAddress(this.#network.getName()) ?? ''
  }

  /** The API server, as the node and the client see it. */
  readonly server = `http://api:${API_PORT}`

  /** Forwarding on the node, and the client's way to cluster addresses through it. */
  async #connect(): Promise<void> {
    await exec(this.node, 'echo 1 >/proc/sys/net/ipv4/ip_forward')
    await exec(this.client, `ip route add 10.96.0.0/16 via ${this.addressOf(this.node)}`)
  }

  /** Writes a Service whose only endpoint is the backend. */
  async addService(): Promise<void> {
    const [, backend] = this.#others
    const ports = [{ name: 'http', port: 80, targetPort: TARGET_PORT, protocol: 'TCP' }]
    await this.#post('/api/v1/namespaces/default/services', {
      metadata: { name: 'web' },
      spec: { clusterIP: CLUSTER_IP, ports },
    })
    await this.#post('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [this.addressOf(backend)], conditions: { ready: true } }],
      ports: [{ name: 'http', port: TARGET_PORT, protocol: 'TCP' }],
    })
  }

  async #post(path: string, body: unknown): Promise<void> {
    const [kind, apiVersion] = path.startsWith('/apis')
      ? ['EndpointSlice', 'discovery.k8s.io/v1']
      : ['Service', 'v1']
    const text = JSON.stringify({ kind, apiVersion, ...(body as object) })
    const headers = `-H 'content-type: application/json'`
    await exec(this.client, `curl -sSf ${headers} -d '${text}' ${this.server}${path}`)
  }

  async stop(): Promise<void> {
    for (const each of [this.client, ...this.#others, this.node]) await each.stop({ timeout: 0 })
    await this.#network.stop()
  }
}

/** Runs a shell command in a container; rejects with what it said unless it succeeds. */
export async function exec(container: StartedTestContainer, script: string): Promise<string> {
  const { exitCode, output } = await container.exec(['sh', '-c', script])
  if (exitCode !== 0) throw new Error(`${script}: exit code ${exitCode}: ${output}`)
  return output
}
