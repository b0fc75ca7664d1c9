import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import {
  CLOSED,
  OPEN,
  type PodStart,
  type StartedPod,
  StartRace,
} from '../../support/policy/start-race/start-race.ts'

/** Pods that send from the first moment of their network, long before the API server has their addresses. */
const DENY = { networkPolicy: { enforce: true, unknownPods: 'deny' } } as const
const ALLOW = { networkPolicy: { enforce: true, unknownPods: 'allow' } } as const
const PODS = 200
const AT_ONCE = 16
/** Every so many Pods one more starts that no policy selects. */
const OPEN_EVERY = 10

const lab = useLab({ api: 'real', config: DENY })
let race: StartRace

beforeAll(async () => {
  race = new StartRace(lab())
  await race.prepare()
})

/** Both policies isolate the Pod that was there before, and no other. */
beforeEach(async () => {
  const count = (kind: string) => `nodeproxy_policy_objects{kind="${kind}"}`
  await lab().daemon.until('enforcing both policies', (samples) => {
    return samples.get(count('policy')) === 2 && samples.get(count('isolated_address')) === 2
  })
})

afterEach(() => race.clear())
afterAll(() => race.close())

/** The API server gets the address of a Pod between 0.1 and 1 second after its network is up. */
function starts(count: number, namespace: string): readonly PodStart[] {
  return Array.from({ length: count }, (_, n) => ({
    namespace,
    reportAfterMs: 100 + ((n * 37) % 10) * 100,
    lingerMs: 100,
  }))
}

const keysOf = (pods: readonly StartedPod[]) => pods.map(({ key }) => key)
const earlyIn = (pods: readonly StartedPod[]) =>
  keysOf(pods.filter(({ worksAt, reportedAt }) => Math.min(worksAt[4], worksAt[6]) < reportedAt))
const isOf =
  (namespace: string) =>
  ({ key }: StartedPod) =>
    key.startsWith(namespace)
/** Pods that got nothing out, or nothing in. */
const shutIn = (pods: readonly StartedPod[]) =>
  keysOf(pods.filter(({ outward, inward }) => outward === 0 || inward === 0))
const leakedIn = (pods: readonly StartedPod[]) =>
  pods.filter(({ outward, inward }) => outward > 0 || inward > 0)

test('no packet passes that a policy forbids, from the first moment of 200 Pods on', async () => {
  const mixed = starts(PODS, CLOSED).flatMap((closed, n) =>
    n % OPEN_EVERY === 0 ? [closed, { ...closed, namespace: OPEN }] : [closed],
  )
  const pods = await race.start(mixed, AT_ONCE)
  const closed = pods.filter(isOf(CLOSED))
  expect(closed).toHaveLength(PODS)
  expect(leakedIn(closed)).toEqual([])
  expect(closed.filter(({ sent }) => sent < 20)).toEqual([])
  expect(shutIn(pods.filter(isOf(OPEN)))).toEqual([])
  expect(earlyIn(pods)).toEqual([])
})

test('where unknown Pods are allowed, packets pass until their policies are in force', async () => {
  await reconfigure(lab(), ALLOW)
  const pods = await race.start(starts(AT_ONCE, CLOSED), AT_ONCE)
  expect(shutIn(pods)).toEqual([])
  expect(earlyIn(pods)).toEqual(keysOf(pods))
  await reconfigure(lab(), DENY)
})
