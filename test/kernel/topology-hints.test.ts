import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectFlow } from '../support/flows/expect-flow.ts'
import {
  clearZones,
  eventReasons,
  hintedFor,
  makeThreeZones,
  moveTo,
  PLACES,
  type PlaceName,
  podAt,
  ZONE_LABEL,
} from '../support/flows/three-zones.ts'
import { nodeCommand } from '../support/inspection/node-command.ts'
import { service } from '../support/lab/objects.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * From a Service as a user writes it to where its packets go: orch-server's controllers write the
 * hints, the daemon on a node of zone `a` follows them.
 */
const VIP = '172.30.27.1'
const RETRY_SECONDS = 20
const AUTO = { metadata: { name: 'web', annotations: annotation('auto') } }

function annotation(value: string) {
  return { 'service.orch.io/topology-aware-hints': value }
}

const lab = useLab({ api: 'orch-server', nodeLabels: { [ZONE_LABEL]: 'a' } })
beforeAll(() => makeThreeZones(lab()))
beforeEach(() => clearZones(lab()))

async function write(spec: object, more: Parameters<typeof service>[2] = {}): Promise<void> {
  const ports = [{ port: 80 }]
  await lab().api.apply(
    service('ns/web', { clusterIP: VIP, selector: { app: 'web' }, ports, ...spec }, more),
  )
}

async function run(...places: readonly PlaceName[]): Promise<void> {
  await lab().api.apply(...places.map((place) => podAt(place)))
}

/** Packets of a pod on the node under test go to all of these places, and to no other. */
function expectSentTo(...places: readonly PlaceName[]): Promise<void> {
  const endpoints = places.map((place) => `${PLACES[place].ip}:80`)
  const flow = { from: 'pod', src: '10.0.0.2', dst: VIP, dport: 80 } as const
  const deliver = { outcome: 'deliver', endpoints } as const
  return expectFlow(lab(), { ...flow, retrySeconds: RETRY_SECONDS, expect: deliver })
}

/** Waits until these are the last Events: the controller writes them after the slices. */
async function expectEvents(...reasons: readonly RegExp[]): Promise<void> {
  const last = async () => (await eventReasons(lab())).slice(-reasons.length)
  const expected = reasons.map((reason) => expect.stringMatching(reason))
  await expect.poll(last).toEqual(expected)
}

/** `node-proxy explain` names the hints of the zone, and each endpoint that is hinted for others. */
async function expectExplained(zone: string, others: readonly PlaceName[]): Promise<void> {
  const { stdout } = await nodeCommand(lab(), 'explain', '10.0.0.2', 'ns/web')
  expect(stdout).toContain(
    `topology hints for zone ${zone} are followed: 1 of 3 ready endpoints\n` +
      '  endpoints that get no new connections from here:\n',
  )
  for (const place of others) {
    expect(stdout).toContain(`    ${PLACES[place].ip}:80: hinted for zone ${place}\n`)
  }
}

describe('the annotation', () => {
  test('packets stay in the zone; a lost endpoint lets them go everywhere, with an Event', async () => {
    await run('a', 'b', 'c')
    await write({})
    await expectSentTo('a', 'b', 'c')
    await lab().api.patch('Service', 'ns/web', AUTO)
    await expectSentTo('a')
    await lab().api.apply(podAt('b', false))
    await expectSentTo('a', 'c')
    await expectEvents(
      /^TopologyAwareHintsEnabled: /,
      /^TopologyAwareHintsDisabled: .*fewer ready endpoints/,
    )
    await run('b')
    await expectSentTo('a')
    await expectEvents(/^TopologyAwareHintsEnabled: /)
  })

  test('the node moves to another zone, and its packets with it', async () => {
    await run('a', 'b', 'c')
    await write({}, AUTO)
    await expectSentTo('a')
    await moveTo(lab(), 'b')
    await expectSentTo('b')
    await expectExplained('b', ['a', 'c'])
    await moveTo(lab(), 'a')
    await expectSentTo('a')
  })

  test('a zone without endpoints of its own is sent to its share of those of another', async () => {
    await run('b', 'alsoB', 'c')
    await write({}, AUTO)
    const [place, ...more] = await hintedFor(lab(), 'a')
    expect([place, more]).toEqual([expect.stringMatching(/^(b|alsoB)$/), []])
    await expectSentTo(place!)
  })

  test('a node in a new zone makes more zones than endpoints: packets go everywhere', async () => {
    await run('a', 'b', 'c')
    await write({}, AUTO)
    await expectSentTo('a')
    await moveTo(lab(), 'x')
    await expectSentTo('a', 'b', 'c')
    await moveTo(lab(), 'a')
  })
})

describe('spec.trafficDistribution', () => {
  test.each(['PreferClose', 'PreferSameZone'])('%s: the own zone', async (trafficDistribution) => {
    await run('here', 'a', 'b', 'c')
    await write({ trafficDistribution })
    await expectSentTo('here', 'a')
    await lab().api.patch('Service', 'ns/web', { spec: { trafficDistribution: null } })
    await expectSentTo('here', 'a', 'b', 'c')
  })

  test('PreferSameNode: the node, without it the zone, without that all', async () => {
    await run('here', 'a', 'b', 'c')
    await write({ trafficDistribution: 'PreferSameNode' })
    await expectSentTo('here')
    await lab().api.apply(podAt('here', false))
    await expectSentTo('a')
    await lab().api.apply(podAt('a', false))
    await expectSentTo('b', 'c')
  })

  test('internal policy Local goes before it', async () => {
    await run('here', 'a', 'b')
    await write({ trafficDistribution: 'PreferSameZone', internalTrafficPolicy: 'Local' })
    await expectSentTo('here')
  })
})
