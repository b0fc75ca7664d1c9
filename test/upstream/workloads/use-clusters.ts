import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Kubectl } from '../../support/kubectl/installed.ts'
import { openShell, type Shell } from '../../support/kubectl/shell.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'
import { startKubeApiserver } from '../kube-apiserver-process.ts'
import { startHollowNodes } from './hollow-nodes.ts'
import { type Observer, openObserver, type Snapshot } from './snapshot.ts'

const POLL_MS = 200
/** How long a cluster must hold the same for it to have settled. */
const SETTLED_MS = 1_500
const TIMEOUT_MS = 60_000
const NAMESPACE = 'shop'
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
  let both: Clusters | undefined
  beforeAll(async () => {
    const theirs = held.use(await startKubeApiserver({ workloads: true }))
    const ours = held.use(await startOrchServer())
    const open = async (kubeconfig: string): Promise<Cluster> => {
      held.use(await startHollowNodes(kubeconfig, NODES))
      const shell = held.use(await openShell({ kubectl, kubeconfig, namespace: NAMESPACE, files }))
      return { shell, observer: held.use(await openObserver(kubeconfig, NAMESPACE)) }
    }
    both = { ours: await open(ours.kubeconfig), theirs: await open(theirs.kubeconfig) }
  })
  afterAll(() => held.disposeAsync())
  return async (given) => {
    if (both === undefined) throw new Error('the clusters are there only while tests run')
    const { ours, theirs } = both
    const step = typeof given === 'string' ? { command: given } : given
    const [said, wantedSaid] = await Promise.all([run(ours, step), run(theirs, step)])
    expect(said).toEqual(wantedSaid)
    const holds = await settled(both)
    expect({ after: step.command, holds: holds.ours }).toEqual({
      after: step.command,
      holds: holds.theirs,
    })
    return holds.ours
  }
}

interface Cluster {
  readonly shell: Shell
  readonly observer: Observer
}

interface Clusters {
  readonly ours: Cluster
  readonly theirs: Cluster
}

/** What is compared of a command. */
async function run({ shell, observer }: Cluster, { command, compare = 'status' }: Step) {
  const { text, status } = await shell.run(command)
  const lines = (await observer.rename(text)).trimEnd().split('\n')
  return { command, status, said: compare === 'text' ? lines : lines.slice(-1) }
}

/**
 * What both clusters hold once theirs has not changed for a while and ours holds the same; else what each holds when time
 * is over. Under load, the garbage collector of kube-controller-manager pauses for longer than any while.
 */
async function settled({ ours, theirs }: Clusters): Promise<Record<keyof Clusters, Snapshot>> {
  const deadline = performance.now() + TIMEOUT_MS
  let since = performance.now()
  let last = ''
  for (;;) {
    const both = {
      ours: await ours.observer.snapshot(),
      theirs: await theirs.observer.snapshot(),
    }
    const now = performance.now()
    const [found, wanted] = [both.ours, both.theirs].map((one) => JSON.stringify(one))
    if (wanted !== last) [last, since] = [wanted!, now]
    if (now > deadline || (found === wanted && now - since > SETTLED_MS)) return both
    await delay(POLL_MS)
  }
}
