import { describe, expect, test } from 'vitest'
import { installedKubectls } from '../../support/kubectl/installed.ts'
import { BROKEN_IMAGE } from './hollow-nodes.ts'
import { useTwoClusters } from './use-clusters.ts'

const SLOWLY = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }, type: 'RollingUpdate' }

const FILES = {
  'web.json': workload('Deployment', 'web', { replicas: 3, strategy: SLOWLY }),
  'recreated.json': workload('Deployment', 'recreated', {
    replicas: 2,
    strategy: { type: 'Recreate' },
  }),
  'stuck.json': workload('Deployment', 'stuck', { replicas: 2, progressDeadlineSeconds: 2 }),
  'bare.json': workload('ReplicaSet', 'bare', { replicas: 2 }),
  'every.json': workload('DaemonSet', 'every', {}),
  'db.json': workload('StatefulSet', 'db', { replicas: 3, serviceName: 'db' }),
  'parallel.json': workload('StatefulSet', 'parallel', {
    replicas: 2,
    serviceName: 'parallel',
    podManagementPolicy: 'Parallel',
  }),
  'budget.json': budget('policy/v1'),
  'beta-budget.json': budget('policy/v1beta1'),
}

function workload(kind: string, name: string, spec: object): string {
  const labels = { app: name }
  const containers = [{ name: 'shop', image: 'example.com/shop:1' }]
  const template = { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 1 } }
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name },
    spec: { selector: { matchLabels: labels }, template, ...spec },
  })
}

function budget(apiVersion: string): string {
  const spec = { minAvailable: 2, selector: { matchLabels: { app: 'web' } } }
  return JSON.stringify({
    apiVersion,
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec,
  })
}

const setImage = (what: string, tag: string): string => `kubectl set image ${what} shop=${tag}`
const shop = (version: number): string => `example.com/shop:${version}`
const rolledOut = (what: string): string => `kubectl rollout status ${what} --timeout=60s`
const history = (what: string): { command: string; compare: 'text' } => ({
  command: `kubectl rollout history ${what}`,
  compare: 'text',
})

describe.each(installedKubectls())('kubectl $version', (kubectl) => {
  const expectSameAfter = useTwoClusters(kubectl, FILES)

  /** Each line waits until both clusters have settled and hold the same. */
  async function expectSame(
    ...commands: readonly Parameters<typeof expectSameAfter>[0][]
  ): Promise<void> {
    for (const command of commands) await expectSameAfter(command)
  }

  test('a Deployment is created, scaled and rolled out', async () => {
    await expectSame(
      'kubectl apply -f web.json',
      rolledOut('deployment/web'),
      { command: 'kubectl get deployment web -o custom-columns=A:.spec.replicas', compare: 'text' },
      'kubectl scale deployment/web --replicas=5',
      setImage('deployment/web', shop(2)),
      rolledOut('deployment/web'),
      history('deployment/web'),
      'kubectl scale deployment/web --replicas=2',
      'kubectl scale deployment/web --replicas=0',
      'kubectl scale deployment/web --replicas=3',
    )
  })

  test('it is undone, paused, resumed and restarted', async () => {
    await expectSame(
      'kubectl rollout undo deployment/web',
      rolledOut('deployment/web'),
      history('deployment/web'),
      'kubectl rollout pause deployment/web',
      setImage('deployment/web', shop(3)),
      'kubectl rollout undo deployment/web',
      'kubectl scale deployment/web --replicas=4',
      'kubectl rollout resume deployment/web',
      rolledOut('deployment/web'),
      'kubectl rollout undo deployment/web --to-revision=2',
      rolledOut('deployment/web'),
      'kubectl rollout restart deployment/web',
      rolledOut('deployment/web'),
      'kubectl annotate deployment/web kubernetes.io/change-cause=again',
      history('deployment/web'),
    )
  })

  test('a roll-out that does not get on is reported, and undone', async () => {
    await expectSame(
      'kubectl apply -f stuck.json',
      rolledOut('deployment/stuck'),
      setImage('deployment/stuck', BROKEN_IMAGE),
      rolledOut('deployment/stuck'),
      'kubectl rollout undo deployment/stuck',
      rolledOut('deployment/stuck'),
      'kubectl delete deployment stuck',
    )
  })

  test('a Deployment of type Recreate ends its Pods first', async () => {
    await expectSame(
      'kubectl apply -f recreated.json',
      setImage('deployment/recreated', shop(2)),
      rolledOut('deployment/recreated'),
      'kubectl delete deployment recreated',
    )
  })

  test('a ReplicaSet adopts and releases Pods', async () => {
    await expectSame(
      'kubectl apply -f bare.json',
      'kubectl label "$(kubectl get pods -l app=bare -o name | head -n 1)" app=other --overwrite',
      'kubectl label pods -l app=other app=bare --overwrite',
      'kubectl scale rs/bare --replicas=1',
      'kubectl delete rs bare --cascade=false',
      'kubectl delete pods -l app=bare',
    )
  })

  test('a DaemonSet has a Pod on each node, and is rolled out and undone', async () => {
    await expectSame(
      'kubectl apply -f every.json',
      rolledOut('daemonset/every'),
      setImage('daemonset/every', shop(2)),
      rolledOut('daemonset/every'),
      history('daemonset/every'),
      'kubectl rollout undo daemonset/every',
      rolledOut('daemonset/every'),
      'kubectl rollout restart daemonset/every',
      rolledOut('daemonset/every'),
      `kubectl patch daemonset every -p '{"spec":{"template":{"spec":{"nodeSelector":{"kubernetes.io/hostname":"node-2"}}}}}'`,
      rolledOut('daemonset/every'),
      'kubectl delete daemonset every',
    )
  })

  test('a StatefulSet is created in its order, scaled, rolled out and undone', async () => {
    await expectSame(
      'kubectl apply -f db.json',
      rolledOut('statefulset/db'),
      'kubectl scale statefulset/db --replicas=4',
      setImage('statefulset/db', shop(2)),
      rolledOut('statefulset/db'),
      history('statefulset/db'),
      'kubectl rollout undo statefulset/db',
      rolledOut('statefulset/db'),
      'kubectl delete pod db-1',
      'kubectl scale statefulset/db --replicas=1',
      'kubectl apply -f parallel.json',
      rolledOut('statefulset/parallel'),
      'kubectl delete statefulset db parallel',
    )
  })

  test('a node is drained within a budget, and serves again', async () => {
    await expectSame(
      'kubectl apply -f budget.json || kubectl apply -f beta-budget.json',
      'kubectl drain node-1 --force --timeout=60s',
      'kubectl uncordon node-1',
      'kubectl delete pdb web',
    )
  })

  test('a Deployment goes with all that it made', async () => {
    const left = await expectSameAfter('kubectl delete deployment web')
    expect(left['ReplicaSet']).toBeUndefined()
    expect(left['Pod']).toBeUndefined()
  })
})
