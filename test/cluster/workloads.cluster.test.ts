import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type IpvsMachine, startIpvsMachine } from './lab/ipvs-machine.ts'
import type { Kubectl } from './lab/kubectl.ts'
import { connectDuring, expectNoneFailed, type LoadOptions, startLoadTargets } from './lab/load.ts'
import { namesOf, podOn, podsOf } from './lab/lookups.ts'
import type { ClusterNode } from './lab/node.ts'
import { changeMode, installNodeProxy, MODES, servesIn } from './lab/node-proxy.ts'
import { type OrchControlPlane, startOrchControlPlane } from './lab/orch-server.ts'
import { eventually } from './lab/programs.ts'
import { useCluster } from './lab/use-cluster.ts'
import { asThePageSays } from './lab/workloads.ts'

const MINUTES = 60_000
/** 300 connections a second. */
const TIMES_AS_MANY = 1.5
/** How long a Pod stays on a node that is lost. */
const STAYS_S = 5
const GONE_MS = 180_000
const REPLICAS = 6
/** What a client hears of a Pod whose node is off: nothing, or that its router does not find the node. */
const OF_A_LOST_POD = ['ABORT_ERR', 'EHOSTUNREACH']
/** Choices are random: some more of them than its share may fall to a Pod. */
const MORE_THAN_ITS_SHARE = 1.2

/** The mode of the Service proxy over which clients connect, and the mode of those on the nodes. */
const WAYS = [
  ...MODES.map((mode) => ({ mode, ofNodes: mode })),
  // Kubelets run on this kernel, which may have no ip_vs: a machine beside them has it.
  { mode: 'ipvs', ofNodes: MODES[0] },
] as const

let plane: OrchControlPlane

/** The controllers and the scheduler of orch-server, with kubelets: the DaemonSet of node-proxy, too. */
const cluster = useCluster(
  3,
  async (made) => {
    await installNodeProxy(made, MODES[0])
    const options = asThePageSays()
    const tolerations = ['not-ready', 'unreachable'].map((state) => ({
      key: `node.kubernetes.io/${state}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: STAYS_S,
    }))
    await startLoadTargets(made, { ...options, pod: { ...options.pod, tolerations } })
  },
  async () => {
    plane = await startOrchControlPlane()
    return plane
  },
)

const kubectl = (): Kubectl => cluster().kubectl

describe.each(WAYS)('in $mode mode', ({ mode, ofNodes }) => {
  let over: IpvsMachine | undefined
  beforeAll(async () => {
    await changeMode(cluster(), ofNodes)
    if (mode !== 'ipvs') return
    over = await startIpvsMachine(await plane.kubeconfigOfAccount('kube-system/node-proxy'))
  }, 5 * MINUTES)
  afterAll(() => over?.[Symbol.asyncDispose]())

  const options = (): LoadOptions => ({ timesAsMany: TIMES_AS_MANY, over })

  test(
    'a Deployment is rolled out, and no connection fails',
    async () => {
      const before = await namesOf(kubectl(), 'web')
      const change = async () => {
        await kubectl().run(['rollout', 'restart', 'deployment/web'])
        await kubectl().rolledOut('deployment/web')
        const gone = before.map((name) => `pod/${name}`)
        const limit = { timeoutMs: 130_000 }
        await kubectl().run(['wait', '--for=delete', ...gone, '--timeout=120s'], limit)
      }
      const what = `rolled out in ${mode} mode`
      const { answers } = await expectNoneFailed(cluster(), what, change, options())
      const after = await namesOf(kubectl(), 'web')
      expect(after.filter((name) => before.includes(name))).toEqual([])
      expect(Object.keys(answers)).toEqual(expect.arrayContaining([...before, ...after]))
    },
    10 * MINUTES,
  )

  test(
    'a node is drained, and no connection fails',
    async () => {
      const name = await drainable()
      const change = async () => {
        const limit = { timeoutMs: 130_000 }
        await kubectl().run(['drain', name, '--ignore-daemonsets', '--timeout=120s'], limit)
        await kubectl().rolledOut('deployment/web')
      }
      await expectNoneFailed(cluster(), `drained in ${mode} mode`, change, options())
      await expect(podOn(kubectl(), 'web', name)).rejects.toThrow(`is on ${name}`)
      await kubectl().run(['uncordon', name])
    },
    10 * MINUTES,
  )

  test(
    'a node loses its power: what fails was for its Pods, which others replace',
    async () => {
      const node = cluster().nodes[2]!
      // It was drained, and is the emptiest one, or has taken the Pods of the one that was.
      await kubectl().run(['scale', 'deployment/web', `--replicas=${REPLICAS}`])
      await kubectl().rolledOut('deployment/web')
      const lost = (await podsOf(kubectl(), 'web')).filter(
        ({ spec }) => spec.nodeName === node.name,
      )
      expect(lost).not.toEqual([])
      const addresses = lost.map(({ status }) => status.podIP)
      const off = async () => {
        await node.powerOff()
        await eventually('its Pods are no endpoints', () => noneReady(addresses), {
          timeoutMs: GONE_MS,
        })
      }
      const what = `a node is off in ${mode} mode`
      const outcomes = await connectDuring(cluster(), what, off, options())
      for (const { attempts, failures } of outcomes) {
        expect(OF_A_LOST_POD).toEqual(expect.arrayContaining(Object.keys(failures)))
        const failed = Object.values(failures).reduce((sum, count) => sum + count, 0)
        expect(failed / attempts).toBeLessThan((MORE_THAN_ITS_SHARE * lost.length) / REPLICAS)
      }
      const replaced = async () => {
        await eventually('its Pods are replaced', () => replacedBeside(node.name), {
          timeoutMs: GONE_MS,
        })
      }
      await expectNoneFailed(cluster(), `replaced in ${mode} mode`, replaced, options())
      await node.boot()
      await servesIn(node, ofNodes)
      await kubectl().run(['scale', 'deployment/web', '--replicas=4'])
      await kubectl().rolledOut('deployment/web')
    },
    15 * MINUTES,
  )
})

/** A node with a Pod of `web`, other than the one where the client is: a rollout may leave a node without one. */
async function drainable(): Promise<string> {
  const [{ name: ofClient }] = cluster().nodes as [ClusterNode, ...ClusterNode[]]
  const names = (await podsOf(kubectl(), 'web')).map(({ spec }) => spec.nodeName)
  const found = names.find((name) => name !== ofClient)
  if (found === undefined) throw new Error(`all Pods of web are on ${ofClient}`)
  return found
}

async function noneReady(addresses: readonly string[]): Promise<boolean> {
  const { items } = await kubectl().get<Slices>('endpointslices', '-l', OF_WEB)
  const ready = items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions.ready !== false)
    .flatMap((one) => one.addresses)
  return addresses.every((address) => !ready.includes(address))
}

async function replacedBeside(lost: string): Promise<boolean> {
  const pods = await podsOf(kubectl(), 'web')
  if (pods.length !== REPLICAS || pods.some(({ spec }) => spec.nodeName === lost)) return false
  await kubectl().ready(pods.map(({ metadata }) => metadata.name))
  return true
}

const OF_WEB = 'kubernetes.io/service-name=web'

interface Slices {
  readonly items: readonly {
    readonly endpoints?: readonly {
      readonly addresses: readonly string[]
      readonly conditions: { readonly ready?: boolean }
    }[]
  }[]
}
