import { expect, test } from 'vitest'
import { valueAt } from '../../../src/lib/json.ts'
import { newTestAuthority } from '../../support/certificates/test-authority.ts'
import type { Reply } from '../../support/consistency/caller.ts'
import { lagUntil } from '../../support/identity/lag.ts'
import { newTestFiles } from '../../support/identity/test-files.ts'
import { UserClient, type UserCredential } from '../../support/identity/user-client.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../../support/orchserver/orch-server-process.ts'

/** The server ends connections whose certificate it does not accept any more. */
const ENDED: Reply = { status: 0, body: {} }

/** Over a connection of its own. */
async function review(server: OrchServerProcess, credential: UserCredential): Promise<Reply> {
  await using user = await UserClient.open(server, credential)
  return await user.review()
}

test('the users of a file of tokens are those of the file as it is', async () => {
  await using files = await newTestFiles()
  await files.write('tokens', 'first,ann,7,"devs,ops"\nsecond,bob,8\n')
  await using server = await startOrchServer({
    flags: [`--token-auth-file=${files.path('tokens')}`],
  })
  await using ann = await UserClient.open(server, { token: 'first' })
  const { body } = await ann.review()
  expect(valueAt(body, 'status', 'userInfo')).toEqual({
    username: 'ann',
    uid: '7',
    groups: ['devs', 'ops', 'system:authenticated'],
  })
  expect(await review(server, { token: 'third' })).toMatchObject({ status: 401 })
  await files.write('tokens', 'second,bob,8\nthird,eve,9\n')
  await lagUntil(401, () => ann.review())
  expect(await review(server, { token: 'second' })).toMatchObject({ status: 201 })
  expect(await review(server, { token: 'third' })).toMatchObject({ status: 201 })
})

test('the authorities of client certificates are those of the file as it is', async () => {
  await using files = await newTestFiles()
  const [company, partner] = await Promise.all(['company', 'partner'].map(newTestAuthority))
  const ann = { certificate: await company!.client('ann', ['devs', 'ops']) }
  const bob = { certificate: await partner!.client('bob') }
  await files.write('ca.crt', company!.cert)
  await using server = await startOrchServer({
    flags: [`--client-ca-file=${files.path('ca.crt')}`],
  })
  expect(await review(server, ann)).toMatchObject({
    status: 201,
    body: {
      status: { userInfo: { username: 'ann', groups: ['devs', 'ops', 'system:authenticated'] } },
    },
  })
  expect(await review(server, bob)).toMatchObject({ status: 401 })
  await using connected = await UserClient.open(server, ann)
  expect(await connected.review()).toMatchObject({ status: 201 })
  await files.write('ca.crt', partner!.cert)
  await lagUntil(201, () => review(server, bob))
  expect(await review(server, ann)).toMatchObject({ status: 401 })
  await lagUntil(401, () => connected.review().catch(() => ENDED))
  await using admin = await UserClient.admin(server)
  expect(await admin.review()).toMatchObject({ status: 201 })
})
