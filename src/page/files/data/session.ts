import { Store } from './store.ts'

/** Where a browser keeps the token: the part of `sessionStorage` that tests can replace. */
export interface TokenStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Who reads the cluster. */
export interface Credentials {
  /** Empty: not signed in. */
  readonly token: string
  /** Why the last session ended; empty: there was none, or the reader signed out. */
  readonly reason: string
}

const KEY = 'token'

/** The syntax of a bearer token (RFC 6750). */
const TOKEN = /^[\w\-.~+/]+=*$/

/**
 * The token of the reader, for as long as the tab is open. Only the header of requests and the storage of the tab have
 * it.
 */
export class Session {
  readonly #storage: TokenStorage
  readonly credentials: Store<Credentials>

  constructor(storage: TokenStorage) {
    this.#storage = storage
    this.credentials = new Store({ token: storage.getItem(KEY) ?? '', reason: '' })
  }

  /** @returns why the text is not a token, without quoting it; undefined: it may be one */
  signIn(text: string): string | undefined {
    const token = text.trim()
    if (token === '') return 'The token is empty.'
    if (!TOKEN.test(token)) {
      return 'This is no token: one is a single word of letters, digits, dots, "-" and "_". Paste all that the command printed, and nothing else.'
    }
    this.#storage.setItem(KEY, token)
    this.credentials.set({ token, reason: '' })
    return undefined
  }

  /** Ends the session if it still has this `token`, so that a late answer does not end a new session. */
  end(reason = '', token = this.credentials.value.token): void {
    if (token !== this.credentials.value.token) return
    this.#storage.removeItem(KEY)
    this.credentials.set({ token: '', reason })
  }
}
