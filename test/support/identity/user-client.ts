import { Client } from 'undici'
import { type JsonObject, stringAt } from '../../../src/lib/json.ts'
import type { Issued } from '../certificates/test-authority.ts'
import type { CallRequest, Reply } from '../consistency/caller.ts'
import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'

/** The credential of a user; without any, the user is anonymous. */
export interface UserCredential {
  readonly token?: string
  readonly certificate?: Issued
}

const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

/** One user of one server, over one connection that is kept alive. */
export class UserClient implements AsyncDisposable {
  readonly #client: Client
  readonly #token: string | undefined

  private constructor(client: Client, token: string | undefined) {
    this.#client = client
    this.#token = token
  }

  static async open(
    server: OrchServerProcess,
    { token, certificate }: UserCredential,
  ): Promise<UserClient> {
    const { ca } = await server.connection.tls!.material()
    return new UserClient(
      new Client(server.url, { connect: { ca: ca!, ...certificate }, allowH2: false }),
      token,
    )
  }

  /** The user of the server's own kubeconfig. */
  static async admin(server: OrchServerProcess): Promise<UserClient> {
    const { cert, key } = await server.connection.tls!.material()
    return UserClient.open(server, { certificate: { cert: cert!, key: key! } })
  }

  async send({
    method,
    path,
    body,
    contentType = 'application/json',
  }: CallRequest): Promise<Reply> {
    const authorization =
      this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }
    const answer = await this.#client.request({
      method,
      path,
      body: body === undefined ? null : JSON.stringify(body),
      headers: { 'content-type': contentType, ...authorization },
    })
    return { status: answer.statusCode, body: (await answer.body.json()) as JsonObject }
  }

  /** Sends a request that must succeed. @throws Error with the answer if it does not */
  async must(request: CallRequest): Promise<JsonObject> {
    const { status, body } = await this.send(request)
    if (status < 300) return body
    throw new Error(`${request.method} ${request.path}: ${status} ${stringAt(body, 'message')}`)
  }

  create(path: string, body: unknown): Promise<JsonObject> {
    return this.must({ method: 'POST', path, body })
  }

  delete(path: string): Promise<JsonObject> {
    return this.must({ method: 'DELETE', path })
  }

  /** Reads who the user is to the server (SelfSubjectReview): 201 with the review, or 401. */
  review(): Promise<Reply> {
    return this.send({ method: 'POST', path: REVIEWS, body: {} })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.destroy()
  }
}
