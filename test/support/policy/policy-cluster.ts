import type { Lab } from '../lab/lab.ts'
import type { ApiObject } from '../lab/objects.ts'
import { PolicyFence } from './policy-fence.ts'
import { objectsOf, serviceObjects } from './policy-objects.ts'
import type { PolicySet } from './policy-set.ts'

const NO_POLICIES: PolicySet = { name: 'no policies', policies: [] }

/** The Pods, namespaces, Services and policies of policy sets, in the API of a lab whose daemon enforces policies. */
export class PolicyCluster {
  readonly #lab: Lab
  readonly #fence: PolicyFence
  /** What was written, by kind and key. */
  #held: ReadonlyMap<string, ApiObject> = new Map()

  private constructor(lab: Lab) {
    this.#lab = lab
    this.#fence = new PolicyFence(lab)
  }

  /** Writes everything but policies, and waits until it has its effect. */
  static async create(lab: Lab): Promise<PolicyCluster> {
    const cluster = new PolicyCluster(lab)
    await lab.api.apply(...serviceObjects())
    await lab.daemon.synced()
    await cluster.#fence.open()
    await cluster.enforce(NO_POLICIES)
    return cluster
  }

  /** Changes what the set before had otherwise, and waits until the daemon enforces it. */
  async enforce(set: PolicySet): Promise<void> {
    const wanted = new Map(objectsOf(set).map((object) => [idOf(object), object]))
    const before = this.#held
    this.#held = wanted
    for (const [id, { kind }] of before) {
      if (!wanted.has(id)) await this.#lab.api.remove(kind, id.slice(kind.length + 1))
    }
    for (const [id, object] of wanted) await this.#write(id, before.get(id), object)
    await this.#fence.pass()
  }

  async #write(id: string, before: ApiObject | undefined, object: ApiObject): Promise<void> {
    const { api } = this.#lab
    if (JSON.stringify(before) === JSON.stringify(object)) return
    if (before === undefined || object.kind === 'NetworkPolicy') return api.apply(object)
    // Nothing else of a Pod or a namespace differs between sets.
    const gone = Object.keys(before.metadata.labels ?? {}).map((name) => [name, null] as const)
    const labels = { ...Object.fromEntries(gone), ...object.metadata.labels }
    await api.patch(object.kind, id.slice(object.kind.length + 1), { metadata: { labels } })
  }
}

function idOf({ kind, metadata }: ApiObject): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
}
