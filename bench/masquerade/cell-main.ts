import { readFileSync } from 'node:fs'
import { hasIpvs } from '../ipvs/here.ts'
import { enterLab } from '../lab/enter-lab.ts'
import { machineFacts } from '../measure/machine.ts'
import { measure } from './cell.ts'
import { type CellOrder, MARK } from './cell-order.ts'
import { needsIpvs, SUBJECTS } from './subjects.ts'

const { subject: name, loads } = JSON.parse(process.argv[2] ?? '') as CellOrder
const subject = SUBJECTS.find((one) => one.name === name)
if (subject === undefined) throw new Error(`no subject is called ${name}`)
if (needsIpvs(name) && !hasIpvs()) throw new Error(`${name}: this kernel has no ip_vs`)
const isUml = readFileSync('/proc/cpuinfo', 'utf8').includes('User Mode Linux')
const kernel = `${machineFacts().kernel}${isUml ? ', User-mode Linux' : ''}`
await measure({ loads, folder: enterLab() }, subject, (cell) => {
  process.stdout.write(`${MARK}${JSON.stringify({ ...cell, kernel })}\n`)
})
process.exit(0)
