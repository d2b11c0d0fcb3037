#include "textflag.h"

// func vfork(flags uintptr) (pid, errno uintptr)
//
// The address that we return to is in a register and never on the stack that the child uses
// while we wait.
TEXT ·vfork(SB),NOSPLIT,$0-24
	MOVD	flags+0(FP), R0
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8	// clone
	SVC
	CMN	$4095, R0
	BCC	made
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
made:
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET
