import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type ApiClient, createApiClient } from '../../src/client/http/api-client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { arrayAt, isJsonObject, type JsonObject, stringAt } from '../../src/lib/json.ts'
import { installedKubectls } from '../support/kubectl/installed.ts'
import { type OperatedPage, operatePage } from '../support/pages/operated-page.ts'
import { blocksOf, sectionsOf } from '../support/pages/page-section.ts'

const KEY = 'service.orch.io/load-balancer-'
const TYPE = 'orch.io/LoadBalancerAddress'
const CONDITION = ['status', 'reason'].map(
  (field) => `{.status.conditions[?(@.type=="${TYPE}")].${field}}`,
)
const BOTH = { ipFamilies: ['IPv4', 'IPv6'] }

interface Parts {
  readonly namespace?: string
  /** By the names of the annotations without their prefix. */
  readonly requests?: Readonly<Record<string, string>>
  readonly spec?: JsonObject
}

/** What a row of the page's table promises of a Service. */
interface Row {
  readonly ip: string
  /** Status and reason of the condition: `True Assigned`; empty: it has none. */
  readonly condition: string
  /** Type and reason of an Event about the Service. */
  readonly event: string
}

/** The Events with the conditions that were seen: `False PoolExhausted Warning`. */
const seen = new Set<string>()

describe.runIf(installedKubectls().length > 0)('the page about pools, with kubectl', () => {
  let page: OperatedPage
  let api: ApiClient

  beforeAll(async () => {
    const [pools = ''] = blocksOf('load-balancers.md', 'Pools', 'yaml')
    const settings: unknown = parse(pools)
    if (!isJsonObject(settings)) throw new Error('the page has no pools')
    page = await operatePage({
      page: 'load-balancers.md',
      settings: { ...settings, services: { clusterIPRange: '10.96.0.0/16,fd00:96::/112' } },
    })
    const { connection } = page.server
    api = createApiClient({ connection, clock: systemClock, userAgent: 'test' })
    await page.sh('kubectl create namespace partners; kubectl create namespace guests')
  })

  afterAll(async () => {
    await api?.close()
    await page?.[Symbol.asyncDispose]()
  })

  afterEach(async () => {
    const others = 'kubectl get services -o name | grep -v /kubernetes | xargs -r kubectl delete'
    await page.sh(`${others}; kubectl delete services --all -n partners -n guests`)
  })

  test('a pool is chosen, an address requested, and shared', async () => {
    await page.follow('What a Service can request', 0)
    await expectRow('web', row('203.0.113.8', 'True Assigned'))
    await page.follow('What a Service can request', 1)
    await expectRow('web', row('192.0.2.11', 'True Assigned'))
    expect(await eventsOf('web')).toContain('changed from 203.0.113.8 to 192.0.2.11')
    await page.follow('Share an address')
    for (const name of ['web', 'names']) await expectRow(name, row('192.0.2.11', 'True Shared'))
    const text = await page.follow('See what a Service has', 0)
    expect(text).toMatch(/^ +orch\.io\/LoadBalancerAddress +True +Shared +192\.0\.2\.11 is shared/m)
  })

  test('sharing is refused with the Service and the reason', async () => {
    await make('a', { requests: { 'sharing-key': 'k' } })
    await expectRow('a', row('192.0.2.10', 'True Assigned'))
    await make('b', { requests: { 'sharing-key': 'k' } })
    await expectRow('b', row('<pending>', 'False SharingRefused'))
    expect(await eventsOf('b')).toContain(
      '192.0.2.10 cannot be shared with default/a: both have the port 80/TCP; change it',
    )
    await make('b', { requests: { 'sharing-key': 'k' }, spec: { ports: [{ port: 81 }] } })
    for (const name of ['a', 'b']) await expectRow(name, row('192.0.2.10', 'True Shared'))
  })

  test('an exhausted pool recovers, the oldest first, and no Event is repeated by a restart', async () => {
    for (const name of ['a', 'b']) await make(name)
    await expectRow('b', row('192.0.2.11', 'True Assigned'))
    await make('web')
    await expectRow('web', row('<pending>', 'False PoolExhausted'))
    await expect(page.follow('See what a Service has', 1)).rejects.toThrow(
      /service\/default\/web: it is of type LoadBalancer, and no pool has an address left for it/,
    )
    const before = await allEvents()
    await page.server.stop()
    await page.server.start()
    await make('last')
    await expectRow('last', row('<pending>', 'False PoolExhausted'))
    expect(withoutOf('last', await allEvents())).toEqual(before)
    for (const [name, ip] of [
      ['a', '192.0.2.10'],
      ['b', '192.0.2.11'],
    ] as const) {
      expect(await shown(name, 'default')).toBe(`${ip} True Assigned`)
    }
    await page.sh('kubectl delete service a')
    await expectRow('web', row('192.0.2.10', 'True Assigned'))
    expect(await shown('last', 'default')).toBe('<pending> False PoolExhausted')
  })

  test('a request that cannot be met is refused, and what a Service has stays', async () => {
    await make('holder', { spec: { loadBalancerIP: '192.0.2.10' } })
    await make('a')
    await expectRow('a', row('192.0.2.11', 'True Assigned'))
    const refused: readonly (readonly [Parts['requests'], string])[] = [
      [{ ips: '192.0.2.10' }, 'AddressInUse'],
      [{ ips: '10.9.8.7' }, 'AddressNotInPool'],
      [{ ips: 'x' }, 'AddressNotUsable'],
      [{ ips: '2001:db8::10' }, 'FamilyMismatch'],
      [{ ips: '198.51.100.1' }, 'PoolNotPermitted'],
      [{ pool: 'none' }, 'PoolNotFound'],
    ]
    for (const [requests, reason] of refused) {
      await make('a', { requests: requests! })
      await expectRow('a', row('192.0.2.11', `False ${reason}`))
    }
    await make('a', { requests: { ips: '192.0.2.10' } })
    await expectRow('a', row('192.0.2.11', 'False AddressInUse'))
    await page.sh('kubectl delete service holder')
    await expectRow('a', row('192.0.2.10', 'True Assigned'))
  })

  test('namespaces and their labels decide about a pool', async () => {
    await make('a', { namespace: 'partners', requests: { pool: 'partners' } })
    await expectRow('a', row('198.51.100.1', 'True Assigned'), 'partners')
    await make('b', { namespace: 'guests', requests: { pool: 'partners' } })
    await expectRow('b', row('<pending>', 'False PoolNotPermitted'), 'guests')
    await page.sh('kubectl label namespace guests tier=partner')
    await expectRow('b', row('198.51.100.2', 'True Assigned'), 'guests')
  })

  test('Services of both families get what the pools and their policy allow', async () => {
    await make('a', {
      requests: { ips: '192.0.2.11,2001:db8::11' },
      spec: { ...BOTH, ipFamilyPolicy: 'RequireDualStack' },
    })
    await expectRow('a', row('192.0.2.11,2001:db8::11', 'True Assigned'))
    const spare = { requests: { pool: 'spare' } }
    await make('b', { ...spare, spec: { ...BOTH, ipFamilyPolicy: 'PreferDualStack' } })
    await expectRow('b', row('203.0.113.8', 'True FamilyNotInPools'))
    await make('c', { ...spare, spec: { ...BOTH, ipFamilyPolicy: 'RequireDualStack' } })
    await expectRow('c', row('<pending>', 'False FamilyNotInPools'))
  })

  test('an address goes with the type, and comes back with it', async () => {
    await make('a')
    await expectRow('a', row('192.0.2.10', 'True Assigned'))
    await page.sh(`kubectl patch service a -p '{"spec":{"type":"ClusterIP"}}'`)
    await expectRow('a', { ip: '<none>', condition: '', event: 'Normal Released' })
    await make('b')
    await expectRow('b', row('192.0.2.10', 'True Assigned'))
    await page.sh(`kubectl patch service a -p '{"spec":{"type":"LoadBalancer"}}'`)
    await expectRow('a', row('192.0.2.11', 'True Assigned'))
  })

  test('Services that are created at once get different addresses', async () => {
    const created = ['a', 'b', 'c'].map((name) => make(name))
    await Promise.all(created)
    const states = async () =>
      Promise.all(['a', 'b', 'c'].map((name) => shown(name, 'default'))).then((all) =>
        all.toSorted(),
      )
    await expect
      .poll(states)
      .toEqual([
        '192.0.2.10 True Assigned',
        '192.0.2.11 True Assigned',
        '<pending> False PoolExhausted',
      ])
  })

  test('an address that no pool has any more stays until its Service moves; no pool for a Service is reported', async () => {
    await make('web')
    await expectRow('web', row('192.0.2.10', 'True Assigned'))
    await configured((text) => text.replace('192.0.2.10-192.0.2.11', '192.0.2.20'))
    await expectRow('web', row('192.0.2.10', 'True AddressOutsidePools', 'Warning'))
    await page.follow('Take addresses out of a pool')
    await expectRow('web', row('192.0.2.20', 'True Assigned'))
    await configured((text) =>
      text.replace('name: public', 'name: public\n      autoAssign: false'),
    )
    await make('a')
    await expectRow('a', row('<pending>', 'False NoPool'))
    expect(await shown('web', 'default')).toBe('192.0.2.20 True Assigned')
  })

  test('every row of the table was seen', () => {
    const section = sectionsOf('load-balancers.md').find(
      ({ heading }) => heading === 'See what a Service has',
    )
    const rows = [...section!.text.matchAll(/\| (True|False), `(\w+)` \| (Normal|Warning)/g)].map(
      ([, status, reason, type]) => `${status} ${reason} ${type}`,
    )
    expect([...seen].toSorted()).toEqual([...new Set(rows), 'removed Released Normal'].toSorted())
  })

  /** Starts the server again with another configuration. */
  async function configured(change: (text: string) => string): Promise<void> {
    const path = join(page.etc, 'config.yaml')
    const text = await readFile(path, 'utf8')
    expect(change(text)).not.toBe(text)
    await page.server.stop()
    await page.write('config.yaml', change(text))
    await page.server.start()
  }

  /** `web PoolExhausted 1`: Events about Services, with how often each was seen. */
  async function allEvents(): Promise<readonly string[]> {
    const columns = ['.involvedObject.name', '.reason', '.count'].map((field) => `{${field}}`)
    const path = `{range .items[?(@.involvedObject.kind=="Service")]}${columns.join(' ')}{"\\n"}{end}`
    const text = await page.sh(`kubectl get events -o jsonpath='${path}'`)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .toSorted()
  }

  async function make(name: string, { namespace = 'default', requests = {}, spec }: Parts = {}) {
    const annotations = Object.fromEntries(
      Object.entries(requests).map(([key, value]) => [KEY + key, value]),
    )
    const object = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace, annotations },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
    }
    await page.sh(`kubectl apply -f - <<'END'\n${JSON.stringify(object)}\nEND`)
  }

  /** Addresses, condition, and types and reasons of Events, as the API has them. */
  async function stateOf(name: string, namespace: string) {
    const folder = `/api/v1/namespaces/${namespace}`
    const service = await read(`${folder}/services/${name}`)
    const about = `fieldSelector=involvedObject.uid%3D${stringAt(service, 'metadata', 'uid')}`
    const events = await read(`${folder}/events?${about}`)
    const condition = arrayAt(service, 'status', 'conditions').find(
      (one) => stringAt(one, 'type') === TYPE,
    )
    return [
      arrayAt(service, 'status', 'loadBalancer', 'ingress')
        .map((one) => stringAt(one, 'ip'))
        .join(),
      `${stringAt(condition, 'status')} ${stringAt(condition, 'reason')}`.trim(),
      arrayAt(events, 'items').map((one) => `${stringAt(one, 'type')} ${stringAt(one, 'reason')}`),
    ]
  }

  /** Empty where the server does not answer, as while it restarts. */
  async function read(path: string): Promise<JsonObject> {
    const answer = await api.get(path)
    return answer.ok ? (answer.value as JsonObject) : {}
  }

  async function shown(name: string, namespace: string): Promise<string> {
    const get = `kubectl get service ${name} -n ${namespace}`
    const text = await page.sh(
      `${get} --no-headers | awk '{print $4}'; ${get} -o jsonpath='${CONDITION.join(' ')}'`,
    )
    return text.trim().replaceAll(/\s+/g, ' ')
  }

  function eventsOf(name: string, namespace = 'default'): Promise<string> {
    return page.sh(`kubectl describe service ${name} -n ${namespace} | sed -n '/^Events:/,$p'`)
  }

  /** Waits until the API has it, because each kubectl is a process; then kubectl prints it. */
  async function expectRow(name: string, { ip, condition, event }: Row, namespace = 'default') {
    const addresses = ip.startsWith('<') ? '' : ip
    await expect
      .poll(() => stateOf(name, namespace))
      .toEqual([addresses, condition, expect.arrayContaining([event])])
    const get = `kubectl get service ${name} -n ${namespace} --no-headers`
    expect((await page.sh(`${get} | awk '{print $4}'`)).trim()).toBe(ip)
    const [type, reason] = event.split(' ')
    expect(await eventsOf(name, namespace)).toMatch(new RegExp(`^ +${type} +${reason} `, 'm'))
    seen.add(condition === '' ? `removed ${reason} ${type}` : `${condition} ${type}`)
  }
})

function withoutOf(name: string, events: readonly string[]): readonly string[] {
  return events.filter((one) => !one.startsWith(`${name} `))
}

function row(ip: string, condition: string, type?: string): Row {
  const [status, reason] = condition.split(' ')
  return { ip, condition, event: `${type ?? (status === 'True' ? 'Normal' : 'Warning')} ${reason}` }
}
