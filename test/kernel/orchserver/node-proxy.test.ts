import { describe, test } from 'vitest'
import { hasEtcd } from '../../support/etcd/has-etcd.ts'
import { expectFollowsPods } from '../../support/flows/follows-pods.ts'
import type { OrchServerKind } from '../../support/lab/api-server.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** On etcd a killed leader is followed after 15 s only, so one kill must do. */
const KINDS: readonly { readonly api: OrchServerKind; readonly kills: number }[] = [
  { api: 'orch-server', kills: 2 },
  ...(hasEtcd() ? [{ api: 'orch-server on etcd', kills: 1 } as const] : []),
]

describe.each(KINDS)('$api', ({ api, kills }) => {
  const lab = useLab({ api })

  test('follows its Pods across kill -9 of the server; rules stay meanwhile', async () => {
    await expectFollowsPods(lab(), { kills })
  })
})
