import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { signIn } from '../../support/browser/enter-cluster.ts'
import { openBrowser } from '../../support/browser/open-browser.ts'
import { watchedPage } from '../../support/browser/watched-page.ts'
import { type Deployment, deploy, objectsOf } from '../../support/flows/deploy.ts'
import { startApiRelay, throughRelay } from '../../support/inspection/api-relay.ts'
import { certifyNode } from '../../support/inspection/certify-node.ts'
import { runProgram } from '../../support/inspection/run-program.ts'
import { installedKubectls } from '../../support/kubectl/installed.ts'
import { createLab, type Lab } from '../../support/lab/lab.ts'
import type { ApiObject } from '../../support/lab/objects.ts'
import { NODE_NAME } from '../../support/lab/plan.ts'
import { type LabProcess, startProcess } from '../../support/lab/process.ts'
import { runOrchServerCommand } from '../../support/orchserver/run-command.ts'
import { launcherOf } from '../../support/programs.ts'

/** A real orch-server and node-proxy, and orchctl on another machine, which reaches both through the network. */
const ROOT = join(import.meta.dirname, '../../..')
const NODE = '192.168.0.2'

const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

const folder = mkdtempSync(join(tmpdir(), 'np-remote-'))
let made: Lab | undefined
const lab = (): Lab => made!

let relay: LabProcess | undefined
beforeAll(async () => {
  made = await createLab({ api: 'orch-server' })
  const dataDir = `--data-dir=${dataDirectory()}`
  const flags = await certifyNode(lab(), { name: NODE_NAME, address: NODE, folder })
  for (const user of ['reader', 'outsider']) {
    const text = await runOrchServerCommand('kubeconfig', dataDir, `--user=${user}`)
    writeFileSync(kubeconfig(user), throughRelay(text))
  }
  await lab().daemon.start({ flags })
  relay = await startApiRelay(lab())
  const admin = ['--kubeconfig', join(dataDirectory(), 'admin.kubeconfig')]
  const make = (...words: string[]) => orchctl(lab().node, ...words, ...admin)
  const binding = ['create', 'clusterrolebinding']
  const rights = join(ROOT, 'config/kubernetes/inspection/remote-inspection.yaml')
  for (const words of [
    ['apply', '-f', rights],
    [...binding, 'lab-reviews', '--clusterrole=system:auth-delegator', '--user=system:kube-proxy'],
    [...binding, 'reader', '--clusterrole=node-inspection-reader', '--user=reader'],
    ['create', 'clusterrole', 'node-lister', '--verb=get,list', '--resource=nodes'],
    [...binding, 'outsider', '--clusterrole=node-lister', '--user=outsider'],
  ]) {
    expect(await make(...words)).toMatchObject({ code: 0 })
  }
})
afterAll(async () => {
  relay?.signalAlone('SIGKILL')
  await relay?.ended
  await made?.close()
  rmSync(folder, { recursive: true })
})

function dataDirectory(): string {
  return join(dirname(lab().daemon.configFile), 'orch-server')
}

function kubeconfig(user: string): string {
  return join(folder, `${user}.kubeconfig`)
}

const orchctl = (site: Site, ...words: string[]) => run(site, launcherOf('orchctl'), ...words)

type Site = Pick<Lab['node'], 'namespace'>

const run = (site: Site, ...words: string[]) =>
  runProgram({ site, prefix: join(folder, 'run') }, ...words)

const explain = (user: string, ...words: string[]) =>
  orchctl(lab().outside, 'explain', ...words, '--kubeconfig', kubeconfig(user))

test('explains a connection on its node, with the certificate of the caller', async () => {
  await lab().site('pod', '10.0.0.2')
  await deploy(lab(), TWO)
  const { code, stdout } = await explain(
    'reader',
    '10.0.0.2',
    'service/ns/two',
    '--node',
    NODE_NAME,
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^On node test-node: TCP from 10\.0\.0\.2, by cbr0 to 172\.30\.41\.1:80\n/)
  expect(stdout).toContain('50 %  10.180.0.1:80 gets it, from 10.0.0.2')
  const words = ['203.0.113.2', '172.30.41.1:80', '--node', NODE_NAME, '-o', 'json']
  const json = await explain('reader', ...words)
  expect(JSON.parse(json.stdout ?? '')).toMatchObject({ node: NODE_NAME, isWell: true, port: 80 })
})

/** Writes the EndpointSlice of `ns/two`, whose backends listen already. */
async function writeEndpoints(endpoints: Deployment['endpoints']): Promise<void> {
  const [, slice] = objectsOf({ ...TWO, endpoints })
  if (slice !== undefined) await lab().api.apply(slice)
}

/** A Pod of the node under test, which no node agent runs. */
function podOf(name: string, ip: string): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ns', labels: { app: name } },
    spec: {
      containers: [{ name: 'c', image: 'none', ports: [{ name: 'http', containerPort: 80 }] }],
      nodeName: NODE_NAME,
      serviceAccountName: 'default',
      automountServiceAccountToken: false,
    },
    status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] },
  }
}

/** Writes a NetworkPolicy of `ns` with the rights of the administrator. */
async function writePolicy(name: string, spec: object): Promise<void> {
  const file = join(folder, `${name}.yaml`)
  const metadata = { name, namespace: 'ns' }
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec }
  writeFileSync(file, JSON.stringify(policy))
  const admin = ['--kubeconfig', join(dataDirectory(), 'admin.kubeconfig')]
  const written = await orchctl(lab().node, 'apply', '-f', file, ...admin)
  expect(written).toMatchObject({ code: 0, stderr: '' })
}

/** Removes all NetworkPolicies of `ns`. */
async function removePolicies(): Promise<void> {
  const admin = ['--kubeconfig', join(dataDirectory(), 'admin.kubeconfig')]
  const words = ['delete', 'networkpolicies', '--all', '--namespace', 'ns']
  expect(await orchctl(lab().node, ...words, ...admin)).toMatchObject({ code: 0 })
}

/** What `explain` answers, in part. */
interface Explained {
  readonly isWell: boolean
  readonly differences: readonly string[]
  readonly desired: { readonly policyRefusals: unknown }
}

test('an address of a Pod finds its node; ends have names, and NetworkPolicies judge them', async () => {
  await lab().api.apply(podOf('client', '10.0.0.2'), podOf('one', '10.180.0.1'))
  const plain = await explain('reader', '10.0.0.2', 'service/ns/two')
  expect(plain.stderr).toBe('')
  expect(plain.stdout).toContain(
    [
      'The cluster:',
      `  source    10.0.0.2, pod ns/client, node ${NODE_NAME}`,
      '  service   ns/two, internalTrafficPolicy Cluster, externalTrafficPolicy Cluster',
      `  backend   10.180.0.1:80, pod ns/one, node ${NODE_NAME}`,
      '  backend   10.180.2.1:80\n',
    ].join('\n'),
  )
  expect(plain.stdout).toContain('  none selects the source for egress, or a backend for ingress\n')
  await writePolicy('closed', { podSelector: {}, policyTypes: ['Ingress'] })
  const from = [{ podSelector: { matchLabels: { app: 'other' } } }]
  const podSelector = { matchLabels: { app: 'one' } }
  await writePolicy('open', { podSelector, ingress: [{ from, ports: [{ port: 'http' }] }] })
  const { stdout } = await explain('reader', 'pod/ns/client', 'service/ns/two')
  expect(stdout).toContain(
    [
      '  by these objects the connection to 10.180.0.1:80 is not admitted',
      '    egress of pod ns/client: admitted: no policy selects it',
      '    ingress of pod ns/one: not admitted: selected by ns/closed, ns/open, no rule admits it\n',
    ].join('\n'),
  )
  // The node itself is exempt from the policies of its Pods.
  const node = await explain('reader', `node/${NODE_NAME}`, 'service/ns/two', '-o', 'json')
  expect(JSON.parse(node.stdout ?? '')).toMatchObject({
    cluster: {
      source: { node: NODE_NAME },
      networkPolicies: [{ ip: '10.180.0.1', isAdmitted: true, ingress: { exempt: 'ownNode' } }, {}],
    },
  })
})

test('the page of the node has the same without credentials, on its loopback', async () => {
  const { status, body } = await lab().daemon.http(10_247, '/inspection/v1/services')
  expect(status).toBe(200)
  const lines = body.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
    service: 'ns/two',
    entries: 1,
    backends: 2,
    status: 'Done',
  })
})

test('a user without the right to get nodes/proxy is refused by the node', async () => {
  const { code, stderr } = await explain(
    'outsider',
    '10.0.0.2',
    '172.30.41.1:80',
    '--node',
    NODE_NAME,
  )
  expect(code).toBe(1)
  expect(stderr).toContain('user "outsider" may not get nodes/proxy of node "test-node"')
})

const [OLDEST] = installedKubectls()

describe.runIf(OLDEST !== undefined)('by way of orch-server', () => {
  const raw = (user: string, path: string) => {
    const kubectl = OLDEST?.path ?? ''
    return run(lab().outside, kubectl, 'get', '--raw', path, '--kubeconfig', kubeconfig(user))
  }
  const below = (path: string, node = NODE_NAME) =>
    `/api/v1/nodes/${node}/proxy/inspection/v1/${path}`

  test('a reader needs no way to the node', async () => {
    const status = await raw('reader', below('status'))
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(status.stdout ?? '')).toMatchObject({ nodeName: NODE_NAME })
    const services = await raw('reader', below('services', `https:${NODE_NAME}:10246`))
    expect(services.stdout).toContain(
      '{"service":"ns/two","entries":1,"backends":2,"status":"Done"}',
    )
    const query = 'source=10.0.0.2&destination=172.30.41.1:80'
    const explained = await raw('reader', below(`explain?${query}`))
    const { isWell, differences, desired } = JSON.parse(explained.stdout ?? '') as Explained
    expect({ isWell, differences }).toEqual({ isWell: false, differences: [] })
    expect(desired.policyRefusals).toMatchObject([
      { ip: '10.180.0.1', direction: 'ingress', policies: ['ns/closed', 'ns/open'] },
    ])
    await removePolicies()
    const open = async () =>
      JSON.parse((await raw('reader', below(`explain?${query}`))).stdout ?? '')
    await expect.poll(open).toMatchObject({ isWell: true, port: 80 })
  })

  test('an error of the node arrives in the words of the node', async () => {
    const { code, stderr } = await raw('reader', below('nothing'))
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^Error from server \(NotFound\): node-proxy of node "test-node": path ".*nothing" is not served; use one of: .*\(NP_INSPECTION_NOT_FOUND\)$/m,
    )
    const query = 'source=10.0.0.2&destination=nowhere'
    expect((await raw('reader', below(`explain?${query}`))).stderr).toContain('nowhere')
  })

  test('the stream of changes goes on: a change of an endpoint arrives', async () => {
    const { path: kubectl = '' } = OLDEST ?? {}
    const words = [kubectl, 'get', '--raw', below('changes'), '--kubeconfig', kubeconfig('reader')]
    const reader = startProcess(lab().outside.namespace, words)
    onTestFinished(async () => {
      reader.signal('SIGKILL')
      await reader.ended
    })
    const change = '"service":"ns/two'
    await reader.said(change)
    const times = reader.output().split(change).length
    await writeEndpoints(TWO.endpoints.slice(0, 1))
    await reader.said(change, { times })
    const last = reader.output().trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ service: expect.stringContaining('ns/two') })
    await writeEndpoints(TWO.endpoints)
    await reader.said(change, { times: times + 1 })
  })

  test('who may not get nodes/proxy is refused by orch-server', async () => {
    const { code, stderr } = await raw('outsider', below('status'))
    expect(code).toBe(1)
    expect(stderr).toContain('User "outsider" cannot get resource "nodes/proxy"')
  })

  test('where no node-proxy listens the answer says so', async () => {
    const { code, stderr } = await raw('reader', below('status', `${NODE_NAME}:9`))
    expect(code).toBe(1)
    expect(stderr).toContain(
      `node "${NODE_NAME}" cannot be read at ${NODE}:9: the connection was refused`,
    )
    const own = await raw('reader', below('status', `${NODE_NAME}:6443`))
    expect(own.stderr).toContain('this server listens there itself')
  })

  test('the page of the cluster is beside the API', async () => {
    const { stdout } = await raw('outsider', '/page/')
    expect(stdout).toContain('<div id="page">')
  })
})

test('the page of the cluster in a browser: its node, a Service, and the way of a packet', async () => {
  await removePolicies()
  const admin = ['--kubeconfig', join(dataDirectory(), 'admin.kubeconfig')]
  const binding = ['create', 'clusterrolebinding', 'page', '--clusterrole=node-inspection-reader']
  await orchctl(lab().node, 'create', 'serviceaccount', 'page', ...admin)
  await orchctl(lab().node, ...binding, '--serviceaccount=default:page', ...admin)
  const token = (await orchctl(lab().node, 'create', 'token', 'page', ...admin)).stdout ?? ''
  await using opened = await openBrowser(['ip', 'netns', 'exec', lab().node.namespace.name])
  const { page, errors } = await watchedPage(opened.browser, { ignoreHTTPSErrors: true })
  await page.goto('https://127.0.0.1:6443/page/')
  await signIn(page, token.replace(/^./, 'x'))
  await page.getByRole('alert').getByText('does not accept the token').waitFor()
  await signIn(page, token)
  await page.getByRole('row', { name: /test-node ready/ }).waitFor()
  await page.getByRole('link', { name: 'Services' }).click()
  await page.getByRole('row', { name: /ns\/two Done/ }).click()
  const nodes = page.getByRole('table', { name: 'On each node' })
  await nodes.getByRole('row', { name: /test-node Done 2/ }).waitFor()
  await nodes.getByRole('link', { name: NODE_NAME }).click()
  await page.getByRole('complementary', { name: 'ns/two' }).getByText('10.180.2.1:80').waitFor()
  await page.goto(`https://127.0.0.1:6443/page/#/nodes/${NODE_NAME}/latency`)
  const changes = page.getByRole('table', { name: 'The last changes' }).getByRole('row')
  await changes.getByText('ns/two').first().waitFor()
  const before = await changes.getByText('ns/two').count()
  await writeEndpoints(TWO.endpoints.slice(0, 1))
  await changes.getByText('ns/two').nth(before).waitFor()
  await writeEndpoints(TWO.endpoints)
  await changes
    .getByText('ns/two')
    .nth(before + 1)
    .waitFor()
  const query = `source=10.0.0.2&destination=172.30.41.1%3A80&node=${NODE_NAME}`
  await page.goto(`https://127.0.0.1:6443/page/#/explain?${query}`)
  await page.getByText(`10.0.0.2 on ${NODE_NAME}`).waitFor()
  await page.getByText('The connection is established.').waitFor()
  expect(await page.locator('.way .delivered').count()).toBe(2)
  // The refused token.
  expect(errors).toEqual([expect.stringContaining('401')])
})
