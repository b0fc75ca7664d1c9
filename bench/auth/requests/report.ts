/** By what the clients of a server prove who they are; `none`: the server knows no users. */
export type Credentials = 'none' | 'token' | 'certificate'

/** What a server says when it is ready. */
export interface ServerReport {
  readonly pid: number
  readonly url: string
  readonly ca: string
  readonly token?: string
  readonly cert?: string
  readonly key?: string
}
