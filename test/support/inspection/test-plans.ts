import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Deployment, deploy, objectsOf } from '../flows/deploy.ts'
import type { Lab } from '../lab/lab.ts'
import { netState } from '../lab/net-state.ts'
import type { ApiObject } from '../lab/objects.ts'
import { reconfigure } from '../lab/reconfigure.ts'
import { useLab } from '../lab/use-lab.ts'
import { keysOf, manifestFile, planOutput, runPlan, runsOf } from './plan-command.ts'

type Mode = 'iptables' | 'ipvs' | 'nftables' | 'userspace'

const KEYS = ['ns/a', 'ns/b', 'ns/c']
const ENDPOINTS = ['10.180.2.1', '10.180.2.2', '10.180.2.3', '10.180.2.4']

/** How much is tested; each plan starts a process, which takes seconds in User-mode Linux. */
interface PlanTests {
  /** Changes of one object, one after the other. */
  readonly changes: number
  /** Whether a plan is also compared with a start of the daemon after the kernel was altered. */
  readonly start: boolean
}

/** A change of one object, so that the daemon writes it in one run. */
interface Step {
  readonly key: string
  readonly what: 'service' | 'slice' | 'delete'
  readonly endpoints: readonly string[]
  readonly affinity: boolean
  readonly external: boolean
  readonly port: number
}

const someStep: fc.Arbitrary<Step> = fc.record({
  key: fc.constantFrom(...KEYS),
  what: fc.constantFrom('service', 'slice', 'service', 'slice', 'delete'),
  endpoints: fc.subarray(ENDPOINTS),
  affinity: fc.boolean(),
  external: fc.boolean(),
  port: fc.constantFrom(80, 81),
})

/** Declares tests of `node-proxy plan` beside a daemon in this mode; `other`: the mode to change to. */
export function testPlans(mode: Mode, other: Mode, { changes, start }: PlanTests): void {
  describe(`plans in mode ${mode}`, () => {
    const flags = ['-v', '6']
    const lab = useLab({ config: { mode }, flags })
    beforeEach(async () => {
      await lab().reset()
      await settled(lab(), mode)
    })

    test('a plan is what the daemon then writes, change by change, and writes nothing', async () => {
      for (const step of fc.sample(someStep, changes)) {
        const before = await stateOf(lab())
        const plan = await runPlan(lab(), ...wordsOf(lab(), step))
        expect(await stateOf(lab())).toEqual(before)
        const runs = runsOf(lab()).length
        await apply(lab(), step)
        const wrote = runsOf(lab()).slice(runs)
        expect([step, ...wrote]).toEqual([step, ...(isEmpty(plan) ? [] : [keysOf(plan)])])
        expect(await runPlan(lab())).toMatchObject({ set: 0, unset: 0, cleanups: [] })
      }
    })

    test('beside a change of mode: all of the new one, and what the old one leaves', async () => {
      await deploy(lab(), deployment('ns/a', ENDPOINTS))
      const plan = await runPlan(lab(), '--proxy-mode', other)
      expect(plan.cleanups).toMatchObject([{ mode, objects: expect.any(Object) }])
      const runs = runsOf(lab()).length
      await reconfigure(lab(), { mode: other })
      await expect.poll(() => runsOf(lab())[runs]).toEqual(keysOf(plan))
      await settled(lab(), other)
      await reconfigure(lab(), { mode })
      await settled(lab(), mode)
    })

    test.runIf(start)('while no daemon runs: what its start repairs', async () => {
      await deploy(lab(), deployment('ns/a', ENDPOINTS))
      await lab().daemon.stop()
      for (const step of fc.sample(someStep, changes)) await write(lab(), step)
      await harm(lab(), mode)
      const before = await stateOf(lab())
      const plan = await runPlan(lab())
      expect(plan.set).toBeGreaterThan(0)
      expect(await planOutput(lab())).toMatch(
        new RegExp(`^mode ${mode} on test-node: ${plan.set} obj`),
      )
      expect(await stateOf(lab())).toEqual(before)
      const runs = runsOf(lab()).length
      await lab().daemon.start({ config: { mode }, flags })
      await lab().daemon.synced()
      expect(runsOf(lab())[runs]).toEqual(keysOf(plan))
    })
  })
}

/** Waits until the daemon has written everything and removed the previous mode. */
async function settled(lab: Lab, mode: Mode): Promise<void> {
  await expect
    .poll(() => runPlan(lab), { interval: 300 })
    .toMatchObject({ mode, set: 0, unset: 0, cleanups: [] })
}

function deployment(key: string, endpoints: readonly string[], step?: Step): Deployment {
  const spec = {
    ...(step?.affinity && { sessionAffinity: 'ClientIP' }),
    ...(step?.external && { externalIPs: [`1.2.3.${KEYS.indexOf(key) + 1}`] }),
  }
  return {
    key,
    spec,
    clusterIP: `172.30.42.${KEYS.indexOf(key) + 1}`,
    endpoints: endpoints.map((ip) => ({ ip, node: 'far' })),
    ports: [{ name: '', port: step?.port ?? 80, protocol: 'TCP', targetPort: 80 }],
  }
}

function objectOf(step: Step): ApiObject {
  const [service, endpointSlice] = objectsOf(deployment(step.key, step.endpoints, step))
  return (step.what === 'service' ? service : endpointSlice) as ApiObject
}

function wordsOf(lab: Lab, step: Step): readonly string[] {
  if (step.what === 'delete') return ['--delete', `service/${step.key}`]
  return ['-f', manifestFile(lab, objectOf(step))]
}

async function write(lab: Lab, step: Step): Promise<void> {
  if (step.what !== 'delete') return lab.api.apply(objectOf(step))
  const found = (await lab.api.get('Service', step.key)) as { readonly kind: string }
  if (found.kind === 'Service') await lab.api.remove('Service', step.key)
}

async function apply(lab: Lab, step: Step): Promise<void> {
  await write(lab, step)
  await lab.daemon.synced()
}

function isEmpty({ set, unset }: { readonly set: number; readonly unset: number }): boolean {
  return set + unset === 0
}

/** What an operator may do by accident. */
async function harm({ node }: Lab, mode: Mode): Promise<void> {
  const { namespace } = node
  if (mode === 'nftables')
    return void (await namespace.exec(['nft', 'delete', 'table', 'ip', 'node-proxy']))
  const program = process.env['NP_IPTABLES_BACKEND'] === 'legacy' ? 'iptables-legacy' : 'iptables'
  await namespace.exec([program, '-w', '-F', 'POSTROUTING', '-t', 'nat'])
  await namespace.exec([program, '-w', '-F', 'INPUT'])
}

/** Everything in the namespace that a mode may write. */
async function stateOf({ node }: Lab): Promise<readonly string[]> {
  const rules = await node.namespace.exec(['nft', '-s', 'list', 'ruleset']).catch(() => '')
  return [...(await netState(node)), rules]
}
