import { expect, test } from 'vitest'
import { NetlinkIpvs } from '../../../kernel/ipvs/netlink-ipvs.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { absentIpvs } from './open-ipvs.ts'

test('a kernel in which ip_vs is not at work has no virtual servers to remove', async () => {
  const ipvs = new NetlinkIpvs(absentIpvs, new FakeClock())
  const refusal = expect.objectContaining({ code: 'NP_KERNEL_IPVS_MISSING' })
  await expect(ipvs.services()).rejects.toThrow(refusal)
  const id = { family: 4, mark: 1 } as const
  await expect(ipvs.run([{ do: 'deleteService', id }])).rejects.toThrow(refusal)
  ipvs.close()
})
