import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Kubectl } from '../../support/kubectl/installed.ts'
import type { Shell } from '../../support/kubectl/shell.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'
import { startKubeApiserver } from '../kube-apiserver-process.ts'
import { startHollowNodes } from './hollow-nodes.ts'
import { openShop, renamed, type Snapshot, takeSnapshot } from './snapshot.ts'

const POLL_MS = 200
/** How long a cluster must hold the same for it to have settled. */
const SETTLED_MS = 1_500
const TIMEOUT_MS = 60_000
const NODES = ['node-1', 'node-2', 'node-3']

/** A command of kubectl, and what is compared of it. */
export interface Step {
  readonly command: string
  /** `text`: all that it says. `status` (the default): its last line and its exit status. */
  readonly compare?: 'text' | 'status'
}

/** Runs a command at both clusters, and expects that they say the same and come to hold the same. */
export type AtBoth = (step: Step | string) => Promise<Snapshot>

/**
 * Starts orch-server alone, and kube-apiserver with kube-controller-manager and kube-scheduler, before the tests of a
 * file: with the same hollow nodes, and with these files in the home of kubectl.
 */
export function useTwoClusters(kubectl: Kubectl, files: Readonly<Record<string, string>>): AtBoth {
  const held = new AsyncDisposableStack()
  let shells: { readonly ours: Shell; readonly theirs: Shell } | undefined
  beforeAll(async () => {
    const theirs = held.use(await startKubeApiserver({ workloads: true }))
    const ours = held.use(await startOrchServer())
    for (const { kubeconfig } of [ours, theirs]) {
      held.use(await startHollowNodes(kubeconfig, NODES))
    }
    shells = {
      ours: held.use(await openShop(kubectl, ours.kubeconfig, files)),
      theirs: held.use(await openShop(kubectl, theirs.kubeconfig, files)),
    }
  })
  afterAll(() => held.disposeAsync())
  return async (given) => {
    if (shells === undefined) throw new Error('the clusters are there only while tests run')
    const { command, compare = 'status' } = typeof given === 'string' ? { command: given } : given
    const [ours, theirs] = await Promise.all(
      [shells.ours, shells.theirs].map(async (shell) => {
        const said = await shell.run(command)
        const text = await renamed(shell, said)
        const lines = text.trimEnd().split('\n')
        return { command, status: said.status, said: compare === 'text' ? lines : lines.slice(-1) }
      }),
    )
    expect(ours).toEqual(theirs)
    const wanted = await settled(shells.theirs)
    const found = await becomes(shells.ours, wanted)
    expect(found, command).toEqual(wanted)
    return found
  }
}

/** What a cluster holds once it has not changed for a while. */
async function settled(shell: Shell): Promise<Snapshot> {
  const deadline = performance.now() + TIMEOUT_MS
  let [last, since] = [await takeSnapshot(shell), performance.now()]
  while (performance.now() - since < SETTLED_MS && performance.now() < deadline) {
    await delay(POLL_MS)
    const next = await takeSnapshot(shell)
    if (JSON.stringify(next) !== JSON.stringify(last)) [last, since] = [next, performance.now()]
  }
  return last
}

/** The first snapshot that equals `wanted`, else the last one before the timeout. */
async function becomes(shell: Shell, wanted: Snapshot): Promise<Snapshot> {
  const deadline = performance.now() + TIMEOUT_MS
  let found = await takeSnapshot(shell)
  while (JSON.stringify(found) !== JSON.stringify(wanted) && performance.now() < deadline) {
    await delay(POLL_MS)
    found = await takeSnapshot(shell)
  }
  return found
}
