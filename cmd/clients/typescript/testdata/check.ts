// runtime.js is made from runtime.impl.ts, which must have what runtime.d.ts declares.
import * as implemented from './runtime.impl.js'
import type * as declared from './runtime.js'

export const same: Omit<typeof declared, 'List'> = implemented

type Instance = declared.List<string, { data: string[] }>
export const list = (l: implemented.List<string, { data: string[] }>): Pick<Instance, keyof Instance> => l
