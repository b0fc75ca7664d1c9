import { shortHash } from './short-hash.ts'

/** By what a Pod is known. */
export interface PodName {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

const MAX_LENGTH = 200

/**
 * What the namespaces of Pods are called: `<prefix>-<namespace>-<name>`, so that
 * people find them; with a part of the uid where that is too long, or is taken by
 * another Pod, be it one of the same name that has not quite ended.
 */
export class NamespaceNames {
  readonly #prefix: string
  /** By uid. */
  readonly #names = new Map<string, string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(uid: string): string | undefined {
    return this.#names.get(uid)
  }

  /** The Pod's name, the same one at every call until it is released. */
  give({ uid, namespace, name }: PodName): string {
    const known = this.#names.get(uid)
    if (known !== undefined) return known
    const plain = `${this.#prefix}-${namespace}-${name}`
    const isFree = plain.length <= MAX_LENGTH && ![...this.#names.values()].includes(plain)
    const given = isFree ? plain : `${plain.slice(0, MAX_LENGTH)}-${shortHash(uid)}`
    this.#names.set(uid, given)
    return given
  }

  release(uid: string): void {
    this.#names.delete(uid)
  }
}
