import { beforeAll, describe, expect, test } from 'vitest'
import type { Kubectl } from './lab/kubectl.ts'
import { expectNoneFailed, startLoadTargets } from './lab/load.ts'
import { namesOf } from './lab/lookups.ts'
import { changeMode, installNodeProxy, MODES } from './lab/node-proxy.ts'
import { useCluster } from './lab/use-cluster.ts'
import { asThePageSays } from './lab/workloads.ts'

const MINUTES = 60_000

/** What is replaced while clients connect: the node-proxies, and the Pods of a Service. */
const cluster = useCluster(2, async (made) => {
  await installNodeProxy(made, MODES[0])
  await startLoadTargets(made, asThePageSays())
})

const kubectl = (): Kubectl => cluster().kubectl

describe.each(MODES.filter((mode) => mode !== 'userspace'))('in %s mode', (mode) => {
  beforeAll(async () => void (await changeMode(cluster(), mode)), 5 * MINUTES)

  test(
    'a rolling update of node-proxy fails no connection',
    async () => {
      await expectNoneFailed(cluster(), `node-proxy updated in ${mode} mode`, async () => {
        await kubectl().run(['-n', 'kube-system', 'rollout', 'restart', 'daemonset/node-proxy'])
        await kubectl().rolledOut('daemonset/node-proxy', 'kube-system')
      })
    },
    10 * MINUTES,
  )

  test(
    'a rolling update of the Pods behind a Service fails no connection',
    async () => {
      const before = await namesOf(kubectl(), 'web')
      const { answers } = await expectNoneFailed(
        cluster(),
        `Pods replaced in ${mode} mode`,
        async () => {
          await kubectl().run(['rollout', 'restart', 'deployment/web'])
          await kubectl().rolledOut('deployment/web')
          await kubectl().run(
            ['wait', '--for=delete', ...before.map((name) => `pod/${name}`), '--timeout=120s'],
            {
              timeoutMs: 130_000,
            },
          )
        },
      )
      const after = await namesOf(kubectl(), 'web')
      expect(Object.keys(answers)).toEqual(expect.arrayContaining([...before, ...after]))
    },
    10 * MINUTES,
  )
})
