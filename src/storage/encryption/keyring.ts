import type { KeyObject } from 'node:crypto'

/** An AES-256 key, and the name by which stored values refer to it. */
export interface EncryptionKey {
  /** 1 to 64 of the characters A–Z a–z 0–9 . _ - */
  readonly name: string
  /** 32 bytes. */
  readonly secret: KeyObject
}

/** The first one encrypts; all of them decrypt. No two have the same name. */
export type EncryptionKeys = readonly [EncryptionKey, ...EncryptionKey[]]

/** The keys in use, which may be replaced while a store uses them. */
export class Keyring {
  #keys: EncryptionKeys

  constructor(keys: EncryptionKeys) {
    this.#keys = keys
  }

  get keys(): EncryptionKeys {
    return this.#keys
  }

  /** The key that encrypts. */
  get first(): EncryptionKey {
    return this.#keys[0]
  }

  find(name: string): EncryptionKey | undefined {
    return this.#keys.find((key) => key.name === name)
  }

  replace(keys: EncryptionKeys): void {
    this.#keys = keys
  }
}
