import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { COMMANDS } from '../../src/nodeproxy/commands/commands.ts'
import { kubeconfigText } from '../support/lab/kubeconfig.ts'
import { CLUSTER_IP, Cluster, exec } from './containers/cluster.ts'
import { daemonContainer, dnsContainer } from './containers/manifest.ts'
import { outputOf, TestContainer } from './containers/test-container.ts'
import { describeWithEngine } from './with-engine.ts'

const GRACE_S = 10

interface Answer {
  readonly words: (cluster: Cluster) => readonly string[]
  readonly says: RegExp
  readonly exitCode?: number
}

/** What each subcommand prints in the container of the daemon, with its rights and its files. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  explain: {
    words: () => ['10.244.0.9', `${CLUSTER_IP}:80`],
    says: /^TCP from 10\.244\.0\.9[^]*100 % {2}\S+:8080 gets it/,
  },
  status: {
    words: () => ['-o', 'json'],
    says: /^\{\s+"version": "\d+\.\d+\.\d+",\s+"nodeName": "node",/,
  },
  entries: { words: () => [], says: /^default\/web:http\/TCP\/4: Done\n/m },
  traffic: { words: () => [], says: /^default\/web +[1-9]/m },
  record: { words: () => ['/tmp/record.tar.gz'], says: /^reading the kernel …/ },
  plan: {
    words: ({ server }) => [
      `--master=${server}`,
      '--hostname-override=node',
      '--cluster-cidr=10.244.0.0/16',
    ],
    says: /^mode iptables on node: .*nothing would change/m,
  },
  doctor: { words: () => [], says: /^nothing was found\r?\n$/ },
  facts: { words: () => ['-o', 'json'], says: /^\{"format":1,.*"node":"node"/ },
}

describeWithEngine('the daemon in a container', ({ images, run }) => {
  let cluster: Cluster
  let daemon: StartedTestContainer

  /** As config/kubernetes/node-proxy/daemonset.yaml has it, in the place of the host's network namespace. */
  const { capabilities } = daemonContainer().securityContext
  const proxy = (name: string, ...args: readonly string[]) =>
    new TestContainer(images.daemon, `${run}-${name}`)
      .readOnly()
      .withTmpFs({ '/tmp': 'rw,nosuid,nodev,mode=1777', '/run/node-proxy': 'rw,nosuid,nodev' })
      .inside(cluster.node)
      .withDroppedCapabilities(...capabilities.drop)
      .withAddedCapabilities(...capabilities.add)
      .withSecurityOpt('no-new-privileges')
      .withCommand([...args])

  const query = () => exec(cluster.client, `curl -sS --max-time 5 http://${CLUSTER_IP}/`)
  const rules = () => exec(cluster.node, 'iptables-save')

  beforeAll(async () => {
    cluster = await Cluster.start(images, run)
    await cluster.addService()
  })
  afterAll(() => cluster?.stop())

  test('is given little by the DaemonSet', () => {
    expect(daemonContainer().securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW'] },
    })
  })

  test('does what needs a writable /proc/sys in a container that ends', async () => {
    const first = proxy('init', '--init-only').unmasked()
    const { status, output } = await first.run()
    expect(output).not.toContain('changing a kernel setting failed; it stays as it was')
    expect(status).toBe(0)
    expect(
      await exec(cluster.node, 'sysctl -n net.netfilter.nf_conntrack_tcp_timeout_established'),
    ).toBe('86400\n')
  })

  test('with two capabilities and nothing to write to, leads a client to the backend', async () => {
    await expect(query()).rejects.toThrow('curl: (')
    const flags = [`--master=${cluster.server}`, '--hostname-override=node']
    daemon = await proxy('daemon', ...flags, '--cluster-cidr=10.244.0.0/16').start()
    // From outside the pods' network, hence masqueraded.
    const answer = `backend saw ${cluster.addressOf(cluster.node)}`
    await expect.poll(query).toBe(answer)
    expect(await rules()).toContain(`-d ${CLUSTER_IP}/32`)
    const log = await outputOf(await getContainerRuntimeClient(), daemon.getId())
    expect(log).not.toContain('changing a kernel setting failed; it stays as it was')
  })

  test('shows its pages to the node, and readiness to others', async () => {
    const metrics = await exec(cluster.node, 'curl -sSf http://127.0.0.1:10249/metrics')
    expect(metrics).toMatch(/^nodeproxy_sync_proxy_rules_last_timestamp_seconds\S* [1-9]/m)
    const ready = `curl -sS -o /dev/null -w '%{http_code}' http://node`
    expect(await exec(cluster.client, `${ready}:10256/readyz`)).toBe('200')
    await expect(exec(cluster.client, `${ready}:10249/metrics`)).rejects.toThrow('000')
  })

  test.each(Object.entries(ANSWERS))('answers %s in the image', async (name, answer) => {
    const { exitCode, output } = await daemon.exec(['node-proxy', name, ...answer.words(cluster)])
    expect([exitCode, output]).toEqual([answer.exitCode ?? 0, expect.stringMatching(answer.says)])
  })

  test('has an answer of every subcommand', () => {
    expect(Object.keys(ANSWERS)).toEqual(COMMANDS.map(({ name }) => name))
  })

  test('serves its page to the node', async () => {
    const page = await exec(cluster.node, 'curl -sSf http://127.0.0.1:10247/')
    const assets = [...page.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => path)
    expect(assets.length).toBeGreaterThan(0)
    for (const path of assets) {
      await exec(cluster.node, `curl -sSf -o /dev/null http://127.0.0.1:10247/${path}`)
    }
  })

  test('orch-dns of the same image answers names of Services', async () => {
    const { user, line } = dnsContainer()
    const [program = '', ...flags] = line
    const folder = mkdtempSync(join(tmpdir(), 'np-dns-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, 'kubeconfig'), kubeconfigText({ url: cluster.server }))
    const dns = await new TestContainer(images.daemon, `${run}-dns`)
      .readOnly()
      .inside(cluster.node)
      .withUser(user)
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges')
      .withBindMounts([{ source: folder, target: '/etc/orch-dns', mode: 'ro' }])
      .withEntrypoint([program])
      .withCommand([...flags, '--kubeconfig=/etc/orch-dns/kubeconfig'])
      .start()
    onTestFinished(() => dns.stop().then(() => undefined))
    const query = `const resolver = new (require('node:dns').promises.Resolver)()
      resolver.setServers(['${cluster.addressOf(cluster.node)}:10053'])
      resolver.resolve4('web.default.svc.cluster.local').then((found) => console.log(found.join()))`
    const resolve = () => exec(cluster.client, `node --eval "${query}"`)
    await expect.poll(resolve).toBe(`${CLUSTER_IP}\n`)
  })

  test('ends at SIGTERM by itself, before it would be killed; packets still flow', async () => {
    const client = await getContainerRuntimeClient()
    const container = client.container.getById(daemon.getId())
    await container.stop({ t: GRACE_S })
    const { State } = await container.inspect()
    expect(State).toMatchObject({ ExitCode: 0, OOMKilled: false })
    expect(await query()).toContain('backend saw')
    await daemon.stop()
  })

  test('--cleanup takes every rule away, and leaves those by which the engine resolves names', async () => {
    const resolve = () => exec(cluster.node, 'getent hosts backend')
    expect(await rules()).toContain('NPROXY-')
    const before = await resolve()
    expect(await proxy('cleanup', '--cleanup').run()).toMatchObject({ status: 0 })
    expect(await rules()).not.toContain('NPROXY-')
    expect(await resolve()).toBe(before)
    await expect(query()).rejects.toThrow('curl: (')
  })
})
