import { describe, expect, it } from 'vitest'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { createPodInNew, refusals } from '../../support/identity/new-namespace.ts'
import { startReplicas } from '../../support/identity/replicas.ts'
import { UserClient } from '../../support/identity/user-client.ts'
import { installedKubectls } from '../../support/kubectl/installed.ts'
import { openShell } from '../../support/kubectl/shell.ts'
import { startOrchServer } from '../../support/orchserver/orch-server-process.ts'

const NAMESPACES = Array.from({ length: 50 }, (_, index) => `n${index}`)

describe.each(installedKubectls())('kubectl $version', (kubectl) => {
  it('creates 50 namespaces at once, and runs a Pod in each in one go', async () => {
    await using server = await startOrchServer()
    const { kubeconfig } = server
    await using shell = await openShell({ kubectl, kubeconfig, namespace: 'race', files: {} })
    const runs = NAMESPACES.map((namespace) =>
      shell.run(
        `kubectl create ns ${namespace} && kubectl run p --image=none --namespace=${namespace}`,
      ),
    )
    for (const [index, said] of (await Promise.all(runs)).entries()) {
      const text = `namespace/${NAMESPACES[index]} created\npod/p created\n`
      expect(said).toEqual({ status: 0, text })
    }
    const { text } = await shell.run(
      "kubectl get pods -A -o jsonpath='{.items[*].spec.serviceAccountName}'",
    )
    expect(text.split(' ')).toEqual(NAMESPACES.map(() => 'default'))
  })
})

it.runIf(hasEtcd())(
  'a replica runs Pods in namespaces that the other one has just made',
  async () => {
    await using replicas = await startReplicas()
    const pods = NAMESPACES.map(async (namespace, index) => {
      const [one, other] = replicas.servers
      await using first = await UserClient.admin(index % 2 === 0 ? one : other)
      await using second = await UserClient.admin(index % 2 === 0 ? other : one)
      return await createPodInNew(namespace, [first, second])
    })
    const results = await Promise.allSettled(pods)
    expect(refusals(results)).toEqual([])
    for (const result of results) {
      expect(result).toMatchObject({ value: { spec: { serviceAccountName: 'default' } } })
    }
  },
)
