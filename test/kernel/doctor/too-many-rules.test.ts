import { expect, test } from 'vitest'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { objectsOf } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** So many rules in the kernel that each change of them takes long. */
const lab = useLab({ config: { mode: 'iptables' } })

const SERVICES = 305
const ENDPOINTS = 200

/** As many backends as 6,000 Services of ten have. */
function services(count: number) {
  return Array.from({ length: count }, (_, index) =>
    objectsOf({
      key: `ns/web-${index}`,
      clusterIP: `172.30.${50 + (index >> 8)}.${index & 255}`,
      endpoints: Array.from({ length: ENDPOINTS }, (_unused, last) => ({
        ip: `10.180.${3 + (last >> 8)}.${last + 1}`,
        node: 'far',
      })),
    }),
  ).flat()
}

test('sixty thousand rules of iptables: how long changes take here, and in other modes', async () => {
  await lab().api.apply(...services(SERVICES))
  await lab().daemon.synced()
  const [first] = await nodeFindings(lab())
  expect(first).toMatchObject({
    check: 'too-many-rules',
    symptom: 'Rules too many, slow',
    object: 'node/test-node',
    cause: expect.stringMatching(/^iptables mode has 6\d{4} rules for 305 Services: /),
    remedy: expect.stringMatching(/^set mode nftables; /),
  })
  expect(first?.evidence.join('\n')).toMatch(
    /6\d{4} rules of iptables-nft\n.*here the last \d+ changes took \d+ ms \(p50\), .*\nmeasured with 5000 Services/s,
  )
})
