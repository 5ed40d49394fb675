/** Reading what a tool call wants to change. */
import { describe, expect, test } from 'vitest'
import { isEscalated, parseMemoryCall } from '../../../src/file-writes/memory-call.ts'

describe('a change', () => {
  test('is a whole file', () => {
    const args = { file_path: '/m/a.md', content: '' }
    expect(parseMemoryCall('write', args)).toEqual({
      kind: 'write',
      paths: ['/m/a.md'],
      content: '',
    })
  })

  test('is a replacement, of one place unless all are asked for', () => {
    const args = { file_path: '/m/a.md', old_string: 'a', new_string: '' }
    const edit = { kind: 'edit', paths: ['/m/a.md'], oldString: 'a', newString: '' }
    expect(parseMemoryCall('edit', args)).toEqual({ ...edit, replaceAll: false })
    expect(parseMemoryCall('edit', { ...args, replace_all: true })).toEqual({
      ...edit,
      replaceAll: true,
    })
  })

  test('is a removal by the shell', () => {
    expect(parseMemoryCall('bash', { command: 'rm -f /m/a.md', description: 'x' })).toEqual({
      kind: 'remove',
      paths: ['/m/a.md'],
      isForced: true,
    })
  })
})

test.each([
  ['read', { file_path: '/m/a.md' }],
  ['str_replace_editor', { path: '/m/a.md', command: 'rm /m/a.md' }],
  ['write', { file_path: '/m/a.md' }],
  ['write', { file_path: 1, content: '' }],
  ['write', null],
  ['write', 'text'],
  ['edit', { file_path: '/m/a.md', old_string: 'a' }],
  ['edit', { file_path: '/m/a.md', old_string: '', new_string: 'b' }],
  ['edit', { file_path: '/m/a.md', old_string: 'a', new_string: 'a' }],
  ['edit', { file_path: '/m/a.md', old_string: 'a', new_string: 'b', replace_all: 'yes' }],
  ['bash', { command: 'rm /m/a.md', run_in_background: true }],
  ['bash', { command: 'ls' }],
  ['bash', {}],
])('%s with %j is none', (name, args) => {
  expect(parseMemoryCall(name, args)).toBeUndefined()
})

describe('an escalated call', () => {
  const due = { sandbox_permissions: 'danger-full-access', justification: 'to save it' }

  test('names the wider mode and why', () => {
    expect(isEscalated(due)).toBe(true)
  })

  test.each([
    undefined,
    {},
    { ...due, sandbox_permissions: 'workspace-write' },
    { ...due, justification: ' ' },
    { sandbox_permissions: due.sandbox_permissions },
  ])('is not in due form: %j', (args) => {
    expect(isEscalated(args)).toBe(false)
  })
})
