import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../../src/lib/testing/free-port.ts'
import { startOrchDns } from '../../support/dns/orch-dns-process.ts'
import { useOrchctl } from './use-orchctl.ts'

const kube = useOrchctl()

describe('what kubectl prints, too', () => {
  test.each([
    [['get', 'svc']],
    [['get', 'svc', '-o', 'wide']],
    [['get', 'svc', '-o', 'json']],
    [['get', 'svc/kubernetes', '-o', 'json']],
    [['get', 'cm,svc', '-A', '-o', 'json']],
    [['get', 'ns,sa', '-o', 'name']],
    [['get', 'ns', '--show-labels']],
    [['get', 'sa', '-A']],
    [['get', 'all', '-A']],
    [['get', 'clusterroles', '-l', 'kubernetes.io/bootstrapping=rbac-defaults', '-o', 'name']],
    [['get', 'ns', '--field-selector=metadata.name=default']],
    [['get', 'roles,rolebindings', '-A']],
    [['get', 'ns', '-o', 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}']],
    [['get', 'svc', '-o', 'custom-columns=N:.metadata.name,P:.spec.ports[*].port']],
    [['get', 'ns', '--sort-by=.metadata.resourceVersion', '-o', 'name']],
    [['api-resources']],
    [['api-resources', '-o', 'name', '--namespaced=false']],
    [['auth', 'can-i', 'list', 'pods']],
    [['config', 'get-contexts']],
    [['config', 'current-context']],
  ])('%j', async (args) => {
    const { ours, theirs } = await kube().both(args)
    expect(ours).toBe(theirs)
    expect(ours).not.toBe('')
  })

  test('YAML has the same value', async () => {
    const args = ['get', 'svc,ns', '-A', '-o', 'yaml']
    const { ours, theirs } = await kube().both(args)
    expect(parse(ours)).toEqual(parse(theirs))
  })

  test('a table of the server, with selectors, in chunks', async () => {
    const { shell, inNew, both } = kube()
    const n = await inNew('tables')
    for (const name of ['c', 'a', 'b']) {
      await shell.program('kubectl', ['create', 'deployment', name, '--image=none', ...n])
    }
    await shell.ok(['label', 'deploy', 'a', 'b', 'tier=x', ...n])
    for (const flags of [['-o', 'wide'], ['-l', 'tier=x'], ['-L', 'tier'], ['--chunk-size=1']]) {
      const { ours, theirs } = await both(['get', 'deploy', ...flags, ...n])
      expect(ours).toBe(theirs)
    }
  })
})

test('describe shows fields, addresses and events', async () => {
  const { shell } = kube()
  const n = await withDatabase('described')
  const text = await shell.ok(['describe', 'svc', 'db', ...n])
  expect(text).toMatch(/^Name: +db\nNamespace: +described\n/)
  expect(text).toMatch(/^Endpoints: +10\.244\.0\.1:5432\nNot Ready: +10\.244\.0\.2:5432\n/m)
})

test('env prints the variables of a Pod', async () => {
  const { shell } = kube()
  const n = await withDatabase('variables')
  await shell.ok(['create', 'service', 'clusterip', 'web', '--tcp=80', ...n])
  const ip = await shell.ok(['get', 'svc', 'web', '-o', 'jsonpath={.spec.clusterIP}', ...n])
  const lines = (await shell.ok(['env', 'pod/db-0', ...n])).split('\n')
  expect(lines).toContain(`WEB_SERVICE_HOST=${ip}`)
  expect(lines).toContain('KUBERNETES_SERVICE_PORT=443')
  expect(lines.some((line) => line.startsWith('DB_'))).toBe(false)
})

test('resolve: a Service, an endpoint with its Pod, one that is not ready, and rights', async () => {
  const { shell } = kube()
  const n = await withDatabase('names')
  const from = ['--from', 'pod/db-0', ...n]
  const found = await shell.ok(['resolve', 'kubernetes.default', ...from])
  expect(found).toMatch(/A +10\.96\.0\.1 +Service default\/kubernetes spec\.clusterIPs\[0\]\n/)
  const pod = await shell.ok(['resolve', 'db-0.db', '--type=A', ...from])
  expect(pod).toMatch(
    /A +10\.244\.0\.1 +EndpointSlice names\/db-\w+ endpoints\[\d\], Pod names\/db-0/,
  )
  const asleep = await shell.run(['resolve', 'db-1.db', ...from])
  expect(asleep).toMatchObject({ code: 1, stdout: expect.stringMatching(/Pod names\/db-1/) })
  const denied = await shell.run(['resolve', 'db', '--as=ann', '--as-group=x', ...n])
  expect(denied).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/UNKNOWN +services is for/),
  })
})

test('orch-dns beside kube-apiserver answers what resolve computes', async () => {
  const { shell, server } = kube()
  const n = await withDatabase('answers')
  const flags = [`--dns-address=127.0.0.1:${await freePort()}`, '--status-address=']
  await using dns = await startOrchDns({ kubeconfig: server.kubeconfig, flags })
  const queries = [
    ['db-0.db'],
    ['10.244.0.1'],
    ['_sql._tcp.db', '--type=SRV'],
    ['kubernetes.default'],
    ['db-1.db'],
    ['nothing'],
  ]
  for (const query of queries) {
    const also = ['--from=pod/db-0', `--dns-server=127.0.0.1:${dns.port}`]
    const { code, stdout } = await shell.run(['resolve', ...query, ...also, ...n])
    expect(stdout).toMatch(/ server: (?:NOERROR|NXDOMAIN) +\d records, as it should be\n/)
    expect(stdout).not.toContain('DIFFERENT')
    expect([...query, code]).toEqual([...query, /db-1|nothing/.test(query[0] ?? '') ? 1 : 0])
  }
})

/** A headless Service with a Pod that is ready and one that is not, in a new namespace. */
async function withDatabase(namespace: string): Promise<readonly string[]> {
  const { shell, inNew } = kube()
  const n = await inNew(namespace)
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } }
  await shell.ok(['apply', '-f', '-'], { input: JSON.stringify(node) })
  const ports = [{ name: 'sql', port: 5432, protocol: 'TCP' }]
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db' },
    spec: { clusterIP: 'None', selector: { app: 'db' }, ports },
  }
  await shell.ok(['create', '-f', '-', ...n], { input: JSON.stringify(service) })
  for (const [index, ready] of ['True', 'False'].entries()) {
    const name = `db-${index}`
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: 'db' } },
      spec: {
        nodeName: 'n1',
        hostname: name,
        subdomain: 'db',
        containers: [{ name: 'c', image: 'none' }],
      },
    }
    await shell.ok(['create', '-f', '-', ...n], { input: JSON.stringify(pod) })
    const podIP = `10.244.0.${index + 1}`
    const conditions = [{ type: 'Ready', status: ready }]
    const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions }
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })]
    await shell.program('kubectl', ['patch', 'pod', name, ...patch, ...n])
  }
  const addresses = ['get', 'endpointslices', '-o', 'jsonpath={.items[*].endpoints[*].addresses}']
  const listed = () => shell.ok([...addresses, ...n])
  await expect.poll(listed).toMatch(/(?=.*244\.0\.1)(?=.*244\.0\.2)/)
  return n
}

test('watch goes on across kill -9 of the server, and prints nothing twice', async () => {
  const { shell, server, inNew } = kube()
  const n = await inNew('watched')
  await shell.ok(['create', 'service', 'externalname', 'one', '--external-name=a.example', ...n])
  const watch = shell.start(['get', 'svc', '--watch', '--output-watch-events', ...n])
  expect(await watch.line()).toMatch(/^EVENT +NAME/)
  expect(await watch.line()).toMatch(/^ADDED +one /)
  await server.kill()
  expect(await watch.complaint()).toContain('is away; waiting for it')
  await server.start()
  expect(await watch.complaint()).toContain('the server is back')
  await shell.ok(['create', 'service', 'externalname', 'two', '--external-name=b.example', ...n])
  expect(await watch.line()).toMatch(/^ADDED +two /)
  await shell.ok(['delete', 'svc', 'one', ...n])
  expect(await watch.line()).toMatch(/^DELETED +one /)
  expect(await watch.stop()).toBe(130)
})
