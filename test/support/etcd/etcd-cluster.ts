import { type EtcdProcess, startEtcd } from './etcd-process.ts'
import { freeAddress } from './free-address.ts'

/** Several etcds on loopback that form one cluster. */
export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdProcess[]
  readonly endpoints: readonly string[]
}

/** Longer than for a single etcd, so that on a busy machine a leader is not considered dead. */
const ARGS = ['--heartbeat-interval=50', '--election-timeout=500']

export async function startEtcdCluster(size: number): Promise<EtcdCluster> {
  const names = Array.from({ length: size }, (_, index) => `member-${index}`)
  const peers = await Promise.all(names.map(() => freeAddress('http')))
  const cluster = names.map((name, index) => `${name}=${peers[index]}`).join()
  await using started = new AsyncDisposableStack()
  const members = await Promise.all(
    names.map(async (name, index) =>
      started.use(await startEtcd({ args: ARGS, member: { name, peer: peers[index]!, cluster } })),
    ),
  )
  const held = started.move()
  return {
    members,
    endpoints: members.map(({ endpoint }) => endpoint),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
