import { newKey } from '../../../src/orchserver/certificates/pem.ts'
import { startEtcd } from '../etcd/etcd-process.ts'
import { type OrchServerProcess, startOrchServer } from '../orchserver/orch-server-process.ts'
import { newTestFiles } from './test-files.ts'
import { UserClient } from './user-client.ts'

/** Two servers of one etcd that sign tokens with the same file of keys. */
export interface Replicas extends AsyncDisposable {
  readonly servers: readonly [OrchServerProcess, OrchServerProcess]
  /** The administrator of each server. */
  readonly admins: readonly [UserClient, UserClient]
  /** The first signing key, PEM. */
  readonly key: string
  /** Replaces the file of keys; the first key signs. */
  writeKeys(...keys: readonly string[]): Promise<void>
  /** The user of a token, as a client of each server. */
  withToken(token: string): Promise<readonly [UserClient, UserClient]>
}

export async function startReplicas(): Promise<Replicas> {
  await using started = new AsyncDisposableStack()
  const files = started.use(await newTestFiles())
  const writeKeys = (...keys: readonly string[]) => files.write('sa.key', keys.join(''))
  const key = newKey()
  await writeKeys(key)
  const etcd = started.use(await startEtcd())
  const flags = [
    `--etcd-servers=${etcd.endpoint}`,
    `--service-account-signing-key-file=${files.path('sa.key')}`,
  ]
  const one = started.use(await startOrchServer({ flags }))
  const other = started.use(await startOrchServer({ flags }))
  const opened = async (open: (server: OrchServerProcess) => Promise<UserClient>) =>
    [held.use(await open(one)), held.use(await open(other))] as const
  const held = started.move()
  return {
    servers: [one, other] as const,
    key,
    writeKeys,
    admins: await opened((server) => UserClient.admin(server)),
    withToken: (token) => opened((server) => UserClient.open(server, { token })),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
