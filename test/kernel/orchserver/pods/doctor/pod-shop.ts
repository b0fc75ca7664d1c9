import type { JsonObject } from '../../../../../src/lib/json.ts'
import type { ShownFinding } from '../../../../support/doctor/doctor-cluster.ts'
import { untilObject } from '../../../../support/doctor/until-object.ts'
import { launcherOf } from '../../../../support/programs.ts'
import { startKubectl } from '../kubectl-run.ts'
import type { PodCluster } from '../pod-cluster.ts'

const ORCHCTL = launcherOf('orchctl')

/** A namespace whose Pods are processes, and orchctl on the machine of the cluster. */
export interface PodShop {
  readonly cluster: PodCluster
  readonly namespace: string
  /** `/api/v1/namespaces/NAMESPACE` */
  readonly core: string
  /** Creates a Pod of one container, `main`, with the label `app=web`. It need not become ready. */
  pod(name: string, container: JsonObject, spec?: JsonObject): Promise<void>
  /** Creates a Service for those Pods. */
  service(name: string, spec?: JsonObject): Promise<JsonObject>
  /** Watches a collection, such as `events`, until an object of it fulfils the condition. */
  until(collection: string, condition: (object: JsonObject) => boolean): Promise<void>
  /** What `orchctl doctor` finds here. */
  doctor(args: readonly string[], input?: string): Promise<readonly FoundCause[]>
  /** Standard output of orchctl in this namespace. */
  orchctl(args: readonly string[], input?: string): Promise<string>
}

export interface FoundCause extends ShownFinding {
  readonly evidence: readonly string[]
  readonly commands: readonly string[]
}

/** Makes the namespace. */
export async function openPodShop(cluster: PodCluster, namespace: string): Promise<PodShop> {
  await cluster.make('/api/v1/namespaces', { metadata: { name: namespace } })
  const core = `/api/v1/namespaces/${namespace}`
  const orchctl = async (args: readonly string[], input = ''): Promise<string> => {
    const run = startKubectl(cluster, ORCHCTL, ['-n', namespace, ...args])
    run.child.stdin.end(input)
    const { stdout, stderr } = await run.said()
    if (stdout === '') throw new Error(`orchctl ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  return {
    cluster,
    namespace,
    core,
    orchctl,
    async pod(name, container, spec = {}) {
      await cluster.make(`${core}/pods`, {
        metadata: { name, labels: { app: 'web' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: 'main', image: 'none', ...container }],
          ...spec,
        },
      })
    },
    service: (name, spec = {}) => {
      const ports = [{ name: 'web', port: 80, targetPort: 8080 }]
      const selector = { app: 'web' }
      return cluster.make(`${core}/services`, {
        metadata: { name },
        spec: { selector, ports, ...spec },
      })
    },
    until: (collection, condition) => untilObject(cluster.api, `${core}/${collection}`, condition),
    doctor: async (args, input) =>
      JSON.parse(await orchctl(['doctor', '-o', 'json', ...args], input)) as readonly FoundCause[],
  }
}
