import { Policy } from '../../auth/rbac/policy.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { StoredEntry } from '../../storage/store.ts'
import type { Follower } from '../cache/feed.ts'
import { isReadable, readItem } from '../cache/item.ts'
import { clusterRoles, roles } from '../kinds/role.ts'
import { clusterRoleBindings, roleBindings } from '../kinds/role-binding.ts'
import type { Resource } from '../resource/resource.ts'

/** How objects of one kind are set in a policy and removed from it. */
interface PolicyPart {
  readonly set: (object: JsonObject) => void
  readonly remove: (namespace: string, name: string) => void
}

/**
 * Keeps a policy up to date with the roles and bindings in the store: a write on any replica takes effect here
 * as soon as the feed shows it. An unreadable object grants nothing.
 */
export class PolicyFollower {
  readonly policy = new Policy()
  /** By the first part of the keys in the store. */
  readonly followers: Readonly<Record<string, Follower>>

  constructor() {
    const { policy } = this
    const role = (kind: string): PolicyPart => ({
      set: (object) => policy.setRole(object),
      remove: (namespace, name) => policy.deleteRole({ kind, namespace, name }),
    })
    const binding: PolicyPart = {
      set: (object) => policy.setBinding(object),
      remove: (namespace, name) => policy.deleteBinding({ namespace, name }),
    }
    this.followers = {
      roles: new ObjectFollower(roles, role('Role')),
      clusterroles: new ObjectFollower(clusterRoles, role('ClusterRole')),
      rolebindings: new ObjectFollower(roleBindings, binding),
      clusterrolebindings: new ObjectFollower(clusterRoleBindings, binding),
    }
  }
}

class ObjectFollower implements Follower {
  readonly #resource: Resource
  readonly #part: PolicyPart
  readonly #keys = new Set<string>()

  constructor(resource: Resource, part: PolicyPart) {
    this.#resource = resource
    this.#part = part
  }

  load(entries: readonly StoredEntry[]): void {
    const loaded = new Map(entries.map((entry) => [entry.key, entry]))
    for (const key of this.#keys) if (!loaded.has(key)) this.#remove(key)
    for (const entry of entries) this.#set(entry)
  }

  apply({ key, entry }: { readonly key: string; readonly entry: StoredEntry | undefined }): void {
    if (entry === undefined) this.#remove(key)
    else this.#set(entry)
  }

  #set(entry: StoredEntry): void {
    const object = readableObject(this.#resource, entry)
    this.#remove(entry.key)
    if (object === undefined) return
    this.#keys.add(entry.key)
    this.#part.set(object)
  }

  /** A key is `/<plural>/<namespace>/<name>`, or `/<plural>/<name>` of a cluster-scoped object. */
  #remove(key: string): void {
    const [, , ...path] = key.split('/')
    const [namespace = '', name = ''] = path.length === 1 ? ['', ...path] : path
    this.#keys.delete(key)
    this.#part.remove(namespace, name)
  }
}

/** The object of an entry; undefined: the API does not serve it either (`cache/item.ts`). */
function readableObject(resource: Resource, entry: StoredEntry): JsonObject | undefined {
  const item = readItem(resource, entry)
  return isReadable(item) ? (JSON.parse(item.value.toString()) as JsonObject) : undefined
}
